#!/bin/sh
# first_process.sh FOLDER SERVICE-ADDRESS/BITS ADDRESS/BITS…: the first process in the namespaces of a node (container_node.h). Makes the
# network of its pods, and mounts over what containerd, runc and the kubelet write to on their own; then FOLDER/is-made is there.
set -e
folder=$1 service_address=$2
shift 2

for place in /run /var/lib /var/log; do mount -t tmpfs -o mode=0755 tmpfs $place; done

# The kubelet sets tunables of the kernel that are the whole machine's: it finds files that have the values already.
tunable() { # value name
  [ -e "/proc/sys/$2" ] || return 0
  file=$folder/tunable-${2##*/}
  echo "$1" >"$file"
  mount --bind "$file" "/proc/sys/$2"
}
tunable 1 vm/overcommit_memory
tunable 0 vm/panic_on_oom
tunable 10 kernel/panic
tunable 1 kernel/panic_on_oops
tunable 1000000 kernel/keys/root_maxkeys
tunable 25000000 kernel/keys/root_maxbytes

echo 1 >/proc/sys/net/ipv4/ip_forward
ip address add "$service_address" dev lo
# With an address of its own: else it takes the lowest of its ports', and pods have to find out that it has changed.
ip link add name cni0 address 02:00:00:00:00:01 type bridge
for address; do
  case $address in
    *:*) ip address add "$address" dev cni0 nodad ;;
    *) ip address add "$address" dev cni0 ;;
  esac
done
ip link set cni0 up
# A bridge without a port has no carrier.
ip link add name port type veth peer name port-end
ip link set port master cni0
ip link set port up
ip link set port-end up

touch "$folder/is-made"
while :; do # and ends what containers leave behind
  sleep 1000 &
  wait $!
done
