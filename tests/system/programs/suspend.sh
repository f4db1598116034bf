#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Suspend the board and wake it again.  Run from a copy in /tmp, by a process that has no file of a shared directory
# open: the kernel's 9p forgets its device's queues when the device resumes, so all of them are unmounted meanwhile.
#
#   suspend.sh idle      to idle, up to where the harts would stop
#   suspend.sh memory    with all harts but one off and that one's registers saved, into an image of the memory,
#                        which is given up at once: there is no swap to write it to
set -e
driver=/sys/bus/virtio/drivers/9pnet_virtio
mounts=$(sed -n 's/^\(\w*\) \(\S*\) 9p .*/\1 \2/p' /proc/mounts)
devices=$(cd $driver && ls -d virtio*)

cd /
echo "$mounts" | while read -r name directory; do umount "$directory"; done
for device in $devices; do echo "$device" > $driver/unbind; done
status=0
case $1 in
idle)
    # Without the seconds that a person would need.
    echo 0 > /sys/module/suspend/parameters/pm_test_delay
    echo platform > /sys/power/pm_test
    echo freeze > /sys/power/state || status=1
    echo none > /sys/power/pm_test
    ;;
memory)
    before=$(dmesg | grep -c 'Image created' || true)
    echo disk 2> /dev/null > /sys/power/state || true # there is nowhere to write it to
    [ "$(dmesg | grep -c 'Image created')" -gt "$before" ] || status=1
    ;;
esac
for device in $devices; do echo "$device" > $driver/bind; done
echo "$mounts" | while read -r name directory; do
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=mmap,access=any "$name" "$directory"
done
exit $status
