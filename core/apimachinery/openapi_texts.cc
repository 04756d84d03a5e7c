#include "core/apimachinery/openapi_texts.h"

#include <array>

namespace fleetadm::apimachinery {
namespace {

struct Text {
  std::string_view message, field, text;
};

constexpr std::string_view kMeta = "meta/v1.ObjectMeta";

constexpr std::array kTexts = {
    Text{"", "apiVersion", "APIVersion defines the group and version whose schema this object is written in."},
    Text{"", "kind", "Kind is the type of this object; together with apiVersion it names its schema."},
    Text{"", "metadata", "Standard object's metadata: name, labels, and what the server keeps about the object."},
    Text{kMeta, "annotations", "Annotations are free texts by key, for tools and people; nothing selects by them."},
    Text{kMeta, "creationTimestamp", "CreationTimestamp is a timestamp of the server's clock when the object was created."},
    Text{kMeta, "deletionGracePeriodSeconds", "How long the object may still take to end once its deletion was asked for."},
    Text{kMeta, "deletionTimestamp", "When the object will be gone, from the moment on that its deletion was asked for."},
    Text{kMeta, "finalizers", "Names of those who have to finish something before the object may go."},
    Text{kMeta, "generateName", "The beginning of a name that the server completes, where no name is given."},
    Text{kMeta, "generation", "Counts the changes of the wanted state."},
    Text{kMeta, "labels", "Labels are short texts by key that objects are selected by."},
    Text{kMeta, "managedFields", "Who set which field, for server-side apply."},
    Text{kMeta, "name", "The object's name: unique among those of its kind in its namespace."},
    Text{kMeta, "namespace", "The namespace that the object lives in; empty for kinds that live in none."},
    Text{kMeta, "ownerReferences", "Objects that this one belongs to: it goes when all of them are gone."},
    Text{kMeta, "resourceVersion", "Names this state of the object; changes with every write."},
    Text{kMeta, "selfLink", "No longer filled in."},
    Text{kMeta, "uid", "Tells the object from others that had its name before."},
};

}  // namespace

std::string_view description_of(std::string_view message, std::string_view field) {
  for (const Text& one : kTexts) {
    if (one.field == field && one.message == message) return one.text;
  }
  return {};
}

}  // namespace fleetadm::apimachinery
