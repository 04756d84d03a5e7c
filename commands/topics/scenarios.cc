// fleetadm-scenarios(7): what --scenarios reads and answers. Outside testers rely on it.
#include "commands/topics/reference.h"
#include "commands/topics/topics.h"

namespace fleetadm::commands {

void register_topics(Registry& registry) {
  Topic topic;
  topic.name = "scenarios";
  topic.summary = "Run the scheduling, rollout, CEL and add-on engines on batches of cases";
  topic.synopsis =
      "fleetadm placement simulate --scenarios FILE|-\n"
      "fleetadm rollout simulate --scenarios FILE|-\n"
      "fleetadm work evaluate --scenarios FILE|-\n"
      "fleetadm cel eval --scenarios FILE|-\n"
      "fleetadm addon simulate --scenarios FILE|-";
  topic.sections = {
      {"DESCRIPTION",
       "The decision engines (the scheduler, rollouts, CEL) are pure: the same input gives the "
       "same answer at any time and on any machine. --scenarios runs them in bulk, for example "
       "to explore many situations or to test them from outside.\n\n"
       "The input is a file, or standard input for \"-\": one JSON object (a case) per line. "
       "For each case one JSON object is written to standard output, one per line, in the order "
       "of the cases. Each answer is written as soon as its case has been read, so a program "
       "can write one case and wait for its answer. Blank lines are ignored. "
       "Kubernetes objects are plain JSON, as returned by the API server. "
       "Unknown fields are ignored; an absent field has its zero value. Times are RFC 3339, "
       "in UTC in answers, to the second.\n\n"
       "* id: any JSON value; copied into the answer. An answer has no id if its case had "
       "none.\n"
       "* error: instead of an answer, why there is none (the case lacks a field, or names "
       "something that does not exist). The other cases are still answered, and the exit code "
       "is 3.\n\n"
       "A line that is not a JSON object is also answered with an error, which gives the line "
       "number and has no id. The order of an object's fields is not significant. "
       "The API server's defaults are not applied; include them in the input if needed.\n\n"
       "Messages of conditions are part of an answer. Only the words of a CEL compiler "
       "(after \"compilation failed\") are free to change."},
      placement_scenarios(),
      rollout_scenarios(),
      work_scenarios(),
      cel_scenarios(),
      addon_scenarios(),
  };
  registry.add_topic(std::move(topic));
#ifndef FLEETADM_WITHOUT_SANDBOX
  registry.add_topic(sandbox_limits_topic());
#endif
  registry.add_topic(cluster_access_topic());
  registry.add_topic(environment_topic());
  registry.add_topic(exit_codes_topic());
  registry.add_topic(errors_topic());
  registry.add_topic(formatting_topic());
}

Topic::Section placement_scenarios() {
  return {"PLACEMENT",
          "One pass of the scheduler for one placement.\n\n"
          "* now: the time of the pass\n"
          "* placement: which one is scheduled, NAMESPACE/NAME; it is one of the objects\n"
          "* objects: ManagedClusters, ManagedClusterSets, ManagedClusterSetBindings, Placements, "
          "PlacementDecisions and AddOnPlacementScores, in any order; of two with the same name "
          "the last counts; other kinds are ignored\n\n"
          "The answer is one of three. {\"skipped\": true}: scheduling is disabled for the "
          "placement, or it is being deleted; nothing is written. {\"failed\": true}: "
          "the pass ends before anything is written (a bound set whose selectorType is unknown). "
          "In both, selected is an empty list. Otherwise:\n\n"
          "* filters: a list of name and filteredClusters (sorted) after each stage, \"Predicate\" "
          "and then \"Predicate,TaintToleration\"; it ends where the pass ended\n"
          "* prioritizers: a list of name, weight and scores (cluster to score, for those that got "
          "one), by name, then weight; an add-on's name is AddOn/RESOURCE/SCORE\n"
          "* scores: cluster to weighted sum, for each cluster that the filters left; "
          "absent if there are none\n"
          "* selected: names of clusters, best first\n"
          "* requeueAfter: when the placement has to be evaluated again; absent if there is no "
          "such time\n"
          "* placementDecisions: the PlacementDecisions that should exist, in order: "
          "name, groupName, groupIndex (a text, as in the label) and clusters, in order; "
          "absent if there are none\n"
          "* deletedDecisions: names of surplus PlacementDecisions, sorted; absent if there are "
          "none\n"
          "* status: numberOfSelectedClusters, decisionGroups (decisionGroupIndex, "
          "decisionGroupName, decisions, clusterCount) and conditions (type, status, reason, "
          "message), by type\n\n"
          "The contents of filters, prioritizers and scores are unspecified for misconfigured "
          "placements.\n\n"
          "    "
          "{\"id\":1,\"now\":\"2026-03-01T10:00:00Z\",\"placement\":\"apps/web\",\"objects\":[{\"kind\":\"Placement\",…},…]}"};
}

Topic::Section rollout_scenarios() {
  return {"ROLLOUT",
          "One step of a rollout.\n\n"
          "* now: the time of the step\n"
          "* strategy: a RolloutStrategy\n"
          "* groups: the decision groups in order: name, index, clusters\n"
          "* existing: what is known of clusters: clusterName, status, lastTransitionTime\n\n"
          "The answer:\n\n"
          "* error: the strategy is refused; the wording is not stable, and no other field is set\n"
          "* toRollout, timeOut: lists of clusterName, status, lastTransitionTime and recheckTime, "
          "with groupName and groupIndex for those to apply; removed: names; all by cluster\n"
          "* maxFailureBreach: more clusters failed than maxFailures allows\n"
          "* recheckAfter: when to evaluate again, as a duration (5m0s); absent if nothing is "
          "pending"};
}

Topic::Section work_scenarios() {
  return {"FEEDBACK AND CONDITIONS",
          "What an agent reports of one object. A case with rule asks for feedback, one with rules "
          "for conditions.\n\n"
          "* object: the object as it is on the cluster\n"
          "* rule: a feedback rule: type and jsonPaths; rawJson (true or false) lets a path yield "
          "whole objects\n"
          "* rules: condition rules: condition, type, celExpressions, message, messageExpression\n\n"
          "The answer to the first holds values, and error where some path failed "
          "(its wording is not stable); to the second conditions: type, status, reason, message."};
}

Topic::Section cel_scenarios() {
  return {"CEL",
          "One expression on one object, in the environment of condition rules.\n\n"
          "* object: any JSON value, the variable object\n"
          "* expression: the expression; its type is string\n\n"
          "The answer:\n\n"
          "* value: the text that the expression yields; (empty) for an empty one\n"
          "* phase: if it yields none: compile or evaluate\n"
          "* error: the reason, in addition to phase; its wording is not stable"};
}

Topic::Section addon_scenarios() {
  return {
      "ADD-ONS",
      "One pass of one controller over objects: ManagedClusterAddOns and ClusterManagementAddOns as v1beta1, AddOnTemplates, "
      "AddOnDeploymentConfigs, ManagedClusters, Placements, PlacementDecisions, ManifestWorks and what else the pass reads. "
      "Other members of a case say which pass it is:\n\n"
      "* addon, objects, now: in every case (rendering has no now)\n"
      "* controller: install, owner, annotation, installProgression, configHash, configuration, addonConfigHash, progressing, "
      "or all: these until nothing changes; configTypes (group, resource): the configurations that exist\n"
      "* part: setup (registration and hub permissions) or token (token infrastructure) of a cluster, or csr: approval and "
      "signing of the request that csr names\n"
      "* agent: the deployment to a cluster; its type is template, or manifests with the manifests and options of the agent\n"
      "* only now: Progressing and the applied configurations of the add-ons, from their works\n"
      "* only cluster: the manifests of the template for that cluster\n\n"
      "The answer:\n\n"
      "* changed: the objects that differ afterwards, complete, by kind, namespace and name\n"
      "* deleted: RESOURCE/NAMESPACE/NAME of what is deleted; absent if there is none\n"
      "* errors: why parts of the pass failed; absent if there is none\n"
      "* requeueAfter: when the pass has to be repeated; absent if there is no such time\n"
      "* manifests and registrationNamespace: of a rendering, or error\n"
      "* roleBindings and reasons (setup), hub (token), approved and signed (csr)\n"
      "* refusedBy: the rule by which fleetadm refuses what upstream does"};
}

}  // namespace fleetadm::commands
