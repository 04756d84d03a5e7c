// fleetadm-cluster-access(7): who reaches a cluster through the gateway, and how an administrator lets somebody.
#include "commands/topics/reference.h"

namespace fleetadm::commands {

Topic cluster_access_topic() {
  Topic topic;
  topic.name = "cluster-access";
  topic.summary = "Who may use clusters through the gateway, and how to let somebody";
  topic.synopsis =
      "fleetadm proxy kubectl|kubeconfig|health|port-forward\n"
      "fleetadm get TYPE --clusters|--all-clusters\n"
      "fleetadm logs|exec POD --cluster NAME";
  topic.sections = {
      {"DESCRIPTION",
       "The gateway (fleetadm init --gateway) authenticates its callers as the hub does, and a request arrives at a cluster under "
       "the same name. Two things are needed: a right on the hub to use the cluster, and rights of that name on the cluster. "
       "Neither implies the other, and an administrator of the hub has none on the clusters for being one."},
      {"ON THE HUB",
       "The right is on the subresource proxy of clusters in the group proxy.open-cluster-management.io. Verbs are those of the "
       "request at the cluster; exec, attach and port-forward are \"create\". With resourceNames it is for these clusters only. "
       "The hub then lets the agents of these clusters act as the users, groups and service accounts of the binding, which takes "
       "some seconds; bindings of a namespace do not count.\n\n"
       "    kubectl apply -f - <<EOF\n"
       "    apiVersion: rbac.authorization.k8s.io/v1\n"
       "    kind: ClusterRole\n"
       "    metadata: {name: use-clusters}\n"
       "    rules:\n"
       "    - apiGroups: [proxy.open-cluster-management.io]\n"
       "      resources: [clusters/proxy]\n"
       "      verbs: [\"*\"]\n"
       "    EOF\n"
       "    kubectl create clusterrolebinding use-clusters --clusterrole use-clusters --user alice"},
      {"ON THE CLUSTERS",
       "RBAC of each cluster judges the name. A work brings such rights to many clusters at once:\n\n"
       "    kubectl create clusterrolebinding alice-views --clusterrole view --user alice --dry-run=client -o yaml |\n"
       "      fleetadm work create alice-views --clusters c1,c2 -f -\n\n"
       "Users and groups have the names that they have on the hub. A service account of the hub is the user "
       "cluster:hub:system:serviceaccount:NAMESPACE:NAME there, and its groups begin with cluster:hub: as well. Users and groups "
       "whose names begin with system: never reach a cluster."},
      {"ACCOUNTS OF A CLUSTER",
       "With --sa a request is from a service account of the cluster instead, whose token the hub keeps fresh (fleetadm msa "
       "create). The caller needs the right on the hub as well, and may read that token, a Secret in the cluster's namespace."},
      {"WHAT IS WRONG",
       "\"fleetadm proxy health\" names where the way to each cluster ends. With the status Forbidden:\n\n"
       "* HOP gateway: the right on the hub is missing.\n"
       "* HOP agent: the cluster does not let its agent act as you yet; wait some seconds after the binding was made. What is "
       "bound to your group alone needs a group whose name does not begin with system:.\n"
       "* HOP member: the rights on the cluster are missing."}};
  return topic;
}

}  // namespace fleetadm::commands
