#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The first process of the board: mounts file systems, runs the command, saves its exit status, and
# switches the board off.  tools/board/run puts into /board: this file, the command, `parameters` (the
# driver), and two tables of file systems to mount, `mounts` and `shares`.
#
# A new process costs some 50 ms in the emulator, which translates the libraries again for each load
# address.  So this script uses the shell's builtins where possible, and address space randomisation
# is off until the command starts.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb

if [ "$0" = /board/init ]; then
    mount -a -T /board/mounts # some fail: a kernel variant does not have all of them
    read -r name < /etc/hostname
    echo "$name" > /proc/sys/kernel/hostname
    # Run from a copy, so that no file of /board is open and a command can unmount it: 9p does not survive suspend.
    cp "$0" /run/init
    exec sh /run/init
fi

finish() { # STATUS
    echo "$1" > /board/status
    sync
    echo o > /proc/sysrq-trigger
    while :; do sleep 60; done
}

. /board/parameters # driver
mount -a -T /board/shares || finish 125

# The virtio ports that are connected to standard output and standard error of tools/board/run.
output='' error=''
for file in /sys/class/virtio-ports/*/name; do
    read -r name < "$file"
    device=${file%/name}
    case $name in
    output) output=/dev/${device##*/} ;;
    error) error=/dev/${device##*/} ;;
    esac
done
[ -c "$output" ] && [ -c "$error" ] || finish 125
read -r present < /sys/devices/system/cpu/present
read -r online < /sys/devices/system/cpu/online
read -r words < /proc/cmdline
case $online:$words in
"$present":* | *maxcpus=*) ;;
*)
    echo "of harts $present only $online came online: see the kernel's messages" > "$error"
    finish 125
    ;;
esac
if [ -n "$driver" ] && ! insmod "/board/$driver" 2> "$error"; then
    echo "the driver was not loaded: see the kernel's messages" > "$error"
    finish 125
fi
echo 2 > /proc/sys/kernel/randomize_va_space
(cd /share && exec setsid -w sh /board/command < /dev/null > "$output" 2> "$error")
finish $?
