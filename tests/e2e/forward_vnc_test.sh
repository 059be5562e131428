#!/bin/bash
# VNC: a far desktop through -L, in a viewer that fills a near screen of the same size. The near screen has the far
# one's pixels, all of them, and keys pressed there arrive.
. "$(dirname "$0")/lib.sh"
e2e_start_far --rate 50M --delay 20
. "$e2e_here/services.sh"
need Xtigervnc xtigervncviewer xcalc xwd xdotool
export HOME=$dir XAUTHORITY=$dir/no-xauthority

# Displays are the machine's, whatever the namespace: numbers that no other run has.
far_display=:$((10000 + $$ % 10000 * 2)) near_display=:$((10001 + $$ % 10000 * 2))
screens=()
picture() { timeout 20 xwd -silent -root -display "$1" >"$dir/$2" 2>"$dir/err"; }
# An X server on HOST that serves VNC at PORT of its loopback.
screen() { # HOST DISPLAY PORT
  E2E_NEAR=$e2e_token "$1" Xtigervnc "$2" -rfbport "$3" -localhost -geometry 640x400 -depth 24 \
    -SecurityTypes None -AlwaysShared </dev/null >"$dir/screen$2.log" 2>&1 &
  screens+=($!)
  until_true picture "$2" first.xwd
}
screen wan_far "$far_display" 5907
screen wan_near "$near_display" 5908

same_pictures() {
  picture "$far_display" far.xwd && picture "$near_display" near.xwd && cmp -s "$dir/far.xwd" "$dir/near.xwd"
}

# What there is to see: a calculator over all of the screen, which shows the digits that it gets.
wan_far xcalc -display "$far_display" -geometry 640x400+0+0 >"$dir/xcalc.log" 2>&1 &
picture "$near_display" empty.xwd || fail "no picture"
something_is_shown() { picture "$far_display" far.xwd && ! cmp -s "$dir/far.xwd" "$dir/empty.xwd"; }
until_true something_is_shown
forward -L 5907:127.0.0.1:5907

step "the same picture"
E2E_NEAR=$e2e_token wan_near xtigervncviewer -display "$near_display" -FullScreen -AutoSelect=0 -PreferredEncoding=ZRLE -NoJPEG=1 \
  127.0.0.1::5907 >"$dir/viewer.log" 2>&1 &
viewer=$!
until_true same_pictures

step "keys: the far screen changes, and the near one with it"
cp "$dir/far.xwd" "$dir/before.xwd"
pressed() {
  DISPLAY=$near_display timeout 10 xdotool mousemove 300 200 type 4711 2>"$dir/err"
  picture "$far_display" far.xwd && ! cmp -s "$dir/far.xwd" "$dir/before.xwd"
}
until_true pressed
until_true same_pictures

# What is not ours ends at once, whatever it would do at its own end.
end_of_x() {
  local pid
  for pid in $(near_processes); do
    case $(cat "/proc/$pid/comm" 2>/dev/null) in X*|xtiger*) kill -KILL "$pid" ;; esac
  done
  wait "$viewer" "${screens[@]}" 2>/dev/null
}
end_of_x
stop_forward
passed
