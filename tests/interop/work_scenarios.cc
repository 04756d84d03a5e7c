#include "tests/interop/work_scenarios.h"

namespace fleetadm::testkit {

std::string work_scenario_grounds() {
  return R"y(apiVersion: v1
kind: Namespace
metadata: {name: lab}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: may, namespace: lab}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: may-not, namespace: lab}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: may, namespace: lab}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: may, namespace: lab}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: may}
subjects: [{kind: ServiceAccount, name: may, namespace: lab}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: may-only-read, namespace: lab}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: may-only-read, namespace: lab}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: may-only-read}
subjects: [{kind: ServiceAccount, name: may-not, namespace: lab}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: there-already, namespace: lab, labels: {kept: "yes"}}
data: {v: of-the-cluster, other: kept}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: created-only, namespace: lab}
data: {v: of-the-cluster}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: only-read, namespace: lab}
data: {v: of-the-cluster, n: "7"}
)y";
}

const std::vector<WorkScenario>& work_scenarios() {
  static const std::vector<WorkScenario> all{
      {"update", R"y(
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: there-already, namespace: lab, labels: {added: "yes"}}, data: {v: "1"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: update, namespace: lab}, data: {v: "1"}}
  - {apiVersion: v1, kind: Service, metadata: {name: update, namespace: lab}, spec: {selector: {a: b}, ports: [{port: 80}]}}
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: lab-update}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
)y",
       "AppliedManifestWorkComplete", R"y(
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: there-already, namespace: lab, labels: {added: "no"}}, data: {v: "2"}}
  - {apiVersion: v1, kind: Service, metadata: {name: update, namespace: lab}, spec: {selector: {a: c}, ports: [{port: 81}]}}
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: lab-update}, rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]}
)y",
       "AppliedManifestWorkComplete"},
      {"create-only", R"y(
manifestConfigs:
- {resourceIdentifier: {resource: configmaps, namespace: lab, name: "created-*"}, updateStrategy: {type: CreateOnly}}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: created-only, namespace: lab}, data: {v: "1"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: created-here, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkComplete", R"y(
manifestConfigs:
- {resourceIdentifier: {resource: configmaps, namespace: lab, name: "created-*"}, updateStrategy: {type: CreateOnly}}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: created-only, namespace: lab}, data: {v: "2"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: created-here, namespace: lab}, data: {v: "2"}}
)y",
       "AppliedManifestWorkComplete"},
      {"server-side", R"y(
manifestConfigs:
- {resourceIdentifier: {resource: configmaps, namespace: lab, name: server-side}, updateStrategy: {type: ServerSideApply, serverSideApply: {fieldManager: work-agent-lab}}}
- {resourceIdentifier: {group: apps, resource: deployments, namespace: lab, name: server-side}, updateStrategy: {type: ServerSideApply, serverSideApply: {force: true, ignoreFields: [{condition: OnSpokePresent, jsonPointers: [/spec/replicas]}]}}}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: server-side, namespace: lab}, data: {v: "1", w: "1"}}
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: server-side, namespace: lab}
    spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "nginx:1"}]}}}
)y",
       "AppliedManifestWorkComplete", R"y(
manifestConfigs:
- {resourceIdentifier: {resource: configmaps, namespace: lab, name: server-side}, updateStrategy: {type: ServerSideApply, serverSideApply: {fieldManager: work-agent-lab}}}
- {resourceIdentifier: {group: apps, resource: deployments, namespace: lab, name: server-side}, updateStrategy: {type: ServerSideApply, serverSideApply: {force: true, ignoreFields: [{condition: OnSpokePresent, jsonPointers: [/spec/replicas]}]}}}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: server-side, namespace: lab}, data: {v: "2"}}
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: server-side, namespace: lab}
    spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "nginx:2"}]}}}
)y",
       "AppliedManifestWorkComplete"},
      {"server-side-conflict", R"y(
manifestConfigs:
- {resourceIdentifier: {resource: configmaps, namespace: lab, name: only-read}, updateStrategy: {type: ServerSideApply}}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: only-read, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkFailed", "", ""},
      {"read-only", R"y(
manifestConfigs:
- resourceIdentifier: {resource: configmaps, namespace: lab, name: only-read}
  updateStrategy: {type: ReadOnly}
  feedbackRules: [{type: JSONPaths, jsonPaths: [{name: value, path: .data.v}, {name: none, path: .data.nothing}]}]
- {resourceIdentifier: {resource: configmaps, namespace: lab, name: not-there}, updateStrategy: {type: ReadOnly}}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: only-read, namespace: lab}, data: {v: "1"}}
)y",
       "of-the-cluster", "", ""},
      {"feedback", R"y(
manifestConfigs:
- resourceIdentifier: {group: apps, resource: deployments, namespace: lab, name: feedback}
  feedbackRules:
  - {type: WellKnownStatus}
  - {type: JSONPaths, jsonPaths: [{name: generation, path: .metadata.generation}, {name: image, path: ".spec.template.spec.containers[0].image"}, {name: paused, path: .spec.paused}]}
workload:
  manifests:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: feedback, namespace: lab}
    spec: {paused: false, replicas: 1, selector: {matchLabels: {a: f}}, template: {metadata: {labels: {a: f}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: a, image: "nginx:1"}]}}}
)y",
       R"y("AvailableReplicas")y", R"y(
manifestConfigs:
- resourceIdentifier: {group: apps, resource: deployments, namespace: lab, name: feedback}
  feedbackRules:
  - {type: JSONPaths, jsonPaths: [{name: labels, path: .spec.template.metadata.labels}]}
workload:
  manifests:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: feedback, namespace: lab}
    spec: {paused: false, replicas: 1, selector: {matchLabels: {a: f}}, template: {metadata: {labels: {a: f}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: a, image: "nginx:1"}]}}}
)y",
       "StatusFeedbackSyncFailed"},
      {"rules", R"y(
manifestConfigs:
- resourceIdentifier: {resource: configmaps, namespace: lab, name: rules}
  conditionRules:
  - {type: CEL, condition: Ready, celExpressions: ["object.data.v == '1'", "has(object.data.v)"], messageExpression: "'is ' + object.data.v + (result ? ', fine' : ', not fine')"}
  - {type: CEL, condition: Degraded, celExpressions: ["object.data.v == '2'"], message: looked at}
  - {type: CEL, condition: Progressing, celExpressions: ["object.data.v == '2'"]}
  - {type: CEL, condition: Wrong, celExpressions: ["object.data.nothing == '1'"]}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: rules, namespace: lab}, data: {v: "1"}}
)y",
       "is 1, fine", R"y(
manifestConfigs:
- resourceIdentifier: {resource: configmaps, namespace: lab, name: rules}
  conditionRules:
  - {type: CEL, condition: Ready, celExpressions: ["object.data.v == '1'", "has(object.data.v)"], messageExpression: "'is ' + object.data.v + (result ? ', fine' : ', not fine')"}
  - {type: CEL, condition: Degraded, celExpressions: ["object.data.v == '2'"], message: looked at}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: rules, namespace: lab}, data: {v: "2"}}
)y",
       "is 2, not fine"},
      {"complete", R"y(
manifestConfigs:
- resourceIdentifier: {group: batch, resource: jobs, namespace: lab, name: complete}
  conditionRules: [{type: WellKnownConditions, condition: Complete}]
  feedbackRules: [{type: WellKnownStatus}]
workload:
  manifests:
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: complete, namespace: lab}
    spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: "busybox:1"}]}}}
)y",
       "Job is not finished", "", ""},
      {"executor-may", R"y(
executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: lab, name: may}}}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: executor-may, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkComplete", "", ""},
      {"executor-may-not", R"y(
executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: lab, name: may-not}}}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: executor-may-not, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkFailed", "", ""},
      {"unknown-kind", R"y(
workload:
  manifests:
  - {apiVersion: nobody.example.com/v1, kind: Nothing, metadata: {name: unknown-kind, namespace: lab}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: unknown-kind, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkFailed", "", ""},
      {"no-namespace", R"y(
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: no-namespace, namespace: nowhere}, data: {v: "1"}}
)y",
       "AppliedManifestWorkFailed", "", ""},
      {"shared-a", R"y(
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkComplete", "", ""},
      {"shared-b", R"y(
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: lab}, data: {v: "1"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: shared-b, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkComplete", R"y(
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: shared-b, namespace: lab}, data: {v: "2"}}
)y",
       "AppliedManifestWorkComplete"},
      {"orphan", R"y(
deleteOption: {propagationPolicy: Orphan}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkComplete", "", ""},
      {"orphan-later", R"y(
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: orphan-later, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkComplete", R"y(
deleteOption: {propagationPolicy: Orphan}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: orphan-later, namespace: lab}, data: {v: "2"}}
)y",
       "AppliedManifestWorkComplete"},
      {"orphan-some", R"y(
deleteOption: {propagationPolicy: SelectivelyOrphan, selectivelyOrphans: {orphaningRules: [{resource: configmaps, namespace: lab, name: orphan-some}]}}
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: orphan-some, namespace: lab}, data: {v: "1"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: orphan-not, namespace: lab}, data: {v: "1"}}
)y",
       "AppliedManifestWorkComplete", "", ""},
      {"immutable", R"y(
workload:
  manifests:
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: immutable, namespace: lab}
    spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: "busybox:1"}]}}}
  - {apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: immutable, namespace: lab}, stringData: {v: "1"}}
)y",
       "AppliedManifestWorkComplete", R"y(
workload:
  manifests:
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: immutable, namespace: lab}
    spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: "busybox:2"}]}}}
  - {apiVersion: v1, kind: Secret, type: example.com/other, metadata: {name: immutable, namespace: lab}, stringData: {v: "2"}}
)y",
       "AppliedManifestWorkFailed"},
      {"type-and-instance", R"y(
workload:
  manifests:
  - {apiVersion: lab.example.com/v1, kind: Thing, metadata: {name: type-and-instance, namespace: lab}, spec: {v: 1}}
  - apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: things.lab.example.com}
    spec:
      group: lab.example.com
      names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
      scope: Namespaced
      versions:
      - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
)y",
       "AppliedManifestWorkComplete", "", ""},
      {"repeated", R"y(
workload:
  manifests:
  - {apiVersion: v1, kind: Namespace, metadata: {name: repeated, labels: {a: "1", b: "1"}}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: repeated, namespace: lab, labels: {a: "1"}}, data: {v: "1", w: "1"}}
  - {apiVersion: v1, kind: Service, metadata: {name: repeated, namespace: lab}, spec: {selector: {a: b}, ports: [{port: 80}]}}
  - {apiVersion: v1, kind: Namespace, metadata: {name: repeated, labels: {b: "2"}}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: repeated, namespace: lab, labels: {b: "2"}}, data: {v: "2"}}
  - {apiVersion: v1, kind: Service, metadata: {name: repeated, namespace: lab}, spec: {ports: [{port: 81}]}}
)y",
       "AppliedManifestWorkComplete", R"y(
workload:
  manifests:
  - {apiVersion: v1, kind: Namespace, metadata: {name: repeated}}
  - {apiVersion: v1, kind: Namespace, metadata: {name: repeated, labels: {c: "3"}}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: repeated, namespace: lab}, data: {v: "3", w: "3"}}
)y",
       "AppliedManifestWorkComplete"},
  };
  return all;
}

}  // namespace fleetadm::testkit
