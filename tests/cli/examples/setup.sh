# The scratch folder in which the examples of the help run: a sandbox with a hub and two clusters, a second sandbox, and the files
# that examples name. Prints nothing; ends with the number of the step that failed.
exec 9>&1 >setup.log 2>&1
trap 'kill $hub 2>/dev/null; fleetadm sandbox down --quiet; fleetadm sandbox down --name test --quiet' EXIT
mkdir -p .kube .config/fish/completions bin files/placement files/work files/cel files/score files/rollout manifests

cat >bin/kubectl <<'END'
#!/bin/sh
case "$*" in
"get managedcluster c1 -o yaml") fleetadm get clusters c1 -o yaml ;;
"get deployment web -o yaml") cat files/cel/web.yaml ;;
*) cat dump.yaml ;;
esac
END
printf '#!/bin/sh\ncat files/work/web.yaml\n' >bin/kustomize
chmod +x bin/*
PATH=$PWD/bin:$PATH

fleetadm sandbox up --ephemeral --clusters 2 --nodes=false || exit 11
fleetadm sandbox up --ephemeral --name test --clusters 1 --nodes=false || exit 12
fleetadm sandbox kubeconfig | sed 's/sandbox-//' >.kube/config || exit 13
cp .kube/config spokes.yaml
cp .kube/config hub.kubeconfig
sed 's/^current-context: .*/current-context: c1/' .kube/config >c1.kubeconfig
awk '/^contexts:/ {print; print "- context:\n    cluster: c1\n    user: c1\n  name: kind-c1"; next} {print}' .kube/config >with-kind && mv with-kind .kube/config

fleetadm init -o json >init.json || exit 14
value() { sed -n "s/^ *\"$1\": \"\(.*\)\",*$/\1/p" init.json; }
value hub-token >token
fleetadm token create --print-register-command -o jsonpath={.hub-token} >bootstrap-token || exit 14
printf '{"auths":{"registry.example.com":{"auth":"%s"}}}' "$(printf me:secret | base64)" >docker.json
HUB=$(value hub-apiserver) PIN=$(value ca-cert-hash)
sed -n 's/^ *certificate-authority-data: //p' .kube/config | head -n1 | base64 -d >hub.crt
[ -s hub.crt ] || exit 15
cat >klusterlet.yaml <<END
apiVersion: operator.open-cluster-management.io/v1
kind: Klusterlet
metadata: {name: klusterlet}
spec: {clusterName: c1, deployOption: {mode: Singleton}}
---
apiVersion: v1
kind: Secret
metadata: {name: bootstrap-hub-kubeconfig, namespace: open-cluster-management-agent}
stringData:
  kubeconfig: |
    current-context: hub
    contexts: [{name: hub, context: {cluster: hub, user: hub}}]
    clusters: [{name: hub, cluster: {server: "$HUB", certificate-authority-data: $(base64 -w0 hub.crt)}}]
    users: [{name: hub, user: {token: "$(cat token)"}}]
END
fleetadm init --context c2 -q || exit 16
fleetadm get token --context c2 -o json >second.json || exit 16
second() { sed -n "s/^ *\"$1\": \"\(.*\)\",*$/\1/p" second.json; }
cat >second-hub.kubeconfig <<END
current-context: hub
contexts: [{name: hub, context: {cluster: hub, user: hub}}]
clusters: [{name: hub, cluster: {server: "$(second hub-apiserver)", certificate-authority-data: $(sed -n 's/^ *certificate-authority-data: //p' .kube/config | head -n1)}}]
users: [{name: hub, user: {token: "$(second hub-token)"}}]
END
fleetadm join --context c1 --cluster-name c1 --hub-token-file token --hub-apiserver "$HUB" --ca-cert-hash "$PIN" || exit 17
cat >joined.yaml <<'END'
apiVersion: v1
kind: Secret
metadata: {name: hub-kubeconfig-secret, namespace: open-cluster-management-agent}
data: {cluster-name: YzE=}
END
fleetadm sandbox load --cluster c1 -f joined.yaml || exit 19
fleetadm hub run --health-address 127.0.0.1:0 >hub.log 2>&1 & hub=$!

now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
for name in c1 c2 c3 c4 c7; do
[ $name = c4 ] && env=dev || env=prod
cat <<END
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: $name, labels: {env: $env, region: eu, tier: gold, cluster.open-cluster-management.io/clusterset: default}}
spec: {hubAcceptsClient: true}
status:
  capacity: {memory: 4Gi}
  conditions:
  - {type: HubAcceptedManagedCluster, status: "True", reason: Accepted, message: "", lastTransitionTime: "$now"}
  - {type: ManagedClusterJoined, status: "True", reason: Joined, message: "", lastTransitionTime: "$now"}
  - {type: ManagedClusterConditionAvailable, status: "True", reason: Available, message: "", lastTransitionTime: "$now"}
---
apiVersion: v1
kind: Namespace
metadata: {name: $name}
---
END
done >clusters.yaml
cat >>clusters.yaml <<'END'
apiVersion: v1
kind: Secret
type: bootstrap.kubernetes.io/token
metadata: {name: bootstrap-token-4dq7zk, namespace: kube-system}
stringData: {token-id: 4dq7zk, token-secret: 0123456789abcdef, usage-bootstrap-authentication: "true"}
---
END
for name in apps works fresh; do
printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n---\n' $name
done >>clusters.yaml
fleetadm sandbox load --cluster hub -f clusters.yaml || exit 18
cat >files/work/web.yaml <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: default}
data: {a: b}
END
cp files/work/web.yaml files/rollout/web.yaml
cp files/work/web.yaml manifests/web.yaml
sed 's/a: b/a: c/' files/work/web.yaml >second.yaml
cat >agent.yaml <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: {name: hello, namespace: hello}
spec:
  selector: {matchLabels: {app: hello}}
  template:
    metadata: {labels: {app: hello}}
    spec: {containers: [{name: agent, image: "quay.io/example/hello:1"}]}
END
fleetadm addon create hello -f agent.yaml || exit 20
cat >files/cel/web.yaml <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec: {replicas: 1}
status: {readyReplicas: 1}
END
cat >files/placement/web.yaml <<'END'
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: apps}
spec: {numberOfClusters: 1}
END
cat >placement.yaml <<'END'
numberOfClusters: 1
END
cat >c1.yaml <<'END'
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1, labels: {env: prod}}
END
sed 's/c1/c9/' c1.yaml >c9.yaml
cat >load.yaml <<'END'
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {name: load, namespace: c1}
status: {scores: [{name: cpu, value: 60}]}
END
cat >dump.yaml <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: dumped, namespace: default}
END
cat c1.yaml >fleet.yaml
cat >>fleet.yaml <<'END'
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: global}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: apps}
spec: {clusterSet: global}
END
{ sed 's/namespace: apps/namespace: default/' fleet.yaml; echo ---; sed 's/namespace: apps/namespace: default/' files/placement/web.yaml; } >files/placement/fleet.yaml
cat >rollout.yaml <<'END'
strategy: {type: All}
groups: [{name: "", index: 0, clusters: [c1, c2]}]
END
cat >work.yaml <<'END'
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: web, namespace: c1}
spec:
  workload:
    manifests:
    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}}
END
cat >scores.yaml <<'END'
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {name: load, namespace: c1}
status: {scores: [{name: cpu, value: 60}]}
END
: >cases.jsonl

fleetadm clusterset create prod || exit 20
fleetadm clusterset create old || exit 21
fleetadm clusterset bind prod -n apps || exit 22
for ns in apps works fresh; do fleetadm clusterset bind global -n $ns || exit 23; done
fleetadm placement create web -n apps || exit 24
for ns in apps works; do fleetadm placement create eu -n $ns --decision-group canary:region=eu --wait --timeout 20s || exit 25; done
cat >template.yaml <<'END'
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: hello-0.0.2}
spec:
  addonName: hello
  agentSpec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, namespace: hello}}]}}
END
fleetadm sandbox load --cluster hub -f template.yaml || exit 31
fleetadm addon enable hello --placement apps/eu || exit 32
for i in 1 2 3 4 5 6 7 8 9; do fleetadm get addons hello --clusters c1 && break; sleep 1; done
fleetadm addon upgrade hello --template hello-0.0.2 --strategy progressive --allow-removals || exit 33
fleetadm work create web --clusters c1,c2 -f files/work/web.yaml || exit 26
fleetadm rollout start web -n apps --placement eu -f files/rollout/web.yaml || exit 27
for i in 1 2 3 4 5 6 7 8 9; do fleetadm rollout history web -n apps -o name | grep -q . && break; sleep 1; done
fleetadm rollout start web -n apps -f second.yaml --allow-removals || exit 28
fleetadm score set capacity --cluster c1 memory=1 --min 0 --max 2 || exit 29
fleetadm score set load --cluster c1 cpu=1 || exit 30
fleetadm addon install managed-serviceaccount || exit 34
fleetadm msa create deployer --cluster c1 || exit 35
claims=$(printf '{"iat":1700000000,"exp":4000000000,"kubernetes.io":{"serviceaccount":{"uid":"u"}}}' | base64 -w0 | tr -d =)
cat >account.yaml <<END
apiVersion: v1
kind: Secret
metadata:
  name: deployer
  namespace: c1
  labels: {authentication.open-cluster-management.io/is-managed-serviceaccount: "true"}
stringData: {token: e30.$claims.c2ln, ca.crt: none}
---
apiVersion: authentication.open-cluster-management.io/v1beta1
kind: ManagedServiceAccount
metadata: {name: deployer, namespace: c1}
spec: {rotation: {validity: 8640h0m0s}}
status: {tokenSecretRef: {name: deployer, lastRefreshTimestamp: "$now"}}
END
fleetadm sandbox load --cluster hub -f account.yaml || exit 36
exec >&9 9>&-

# example GROUP LINE [SECONDS]: prints "FAILED" and why where the line fails. One with SECONDS goes on until it is stopped.
example() {
  [ -d "files/$1" ] && cp "files/$1"/* .
  export HUB PIN TOKEN="$(cat token)"
  timeout -k 2 "${3:-60}" bash -c "$2" >out 2>err </dev/null
  code=$?
  case "${3:+endless}:$code:$2" in
  :0:* | endless:124:* | endless:2:*) return ;;
  :1:*"work diff"* | :[78]:*"rollout status"* | :1:*doctor* | :1:*"certs check"*) grep -q '^error:' err || return ;;
  esac
  echo "FAILED $code: $2"
  head -n 4 err
}
