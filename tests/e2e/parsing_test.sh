#!/bin/bash
# Random command lines: what we make of each is what ssh makes of it. parsing_test.py generates and compares them.
. "$(dirname "$0")/lib.sh"
[ -x "$MCDTP_BIN/parsed-options" ] || skip "no $MCDTP_BIN/parsed-options"
other=$((20000 + RANDOM % 12000))
e2e_start "Port $other" "AcceptEnv FAR_* LC_*"
cat >"$dir/show" <<'END'
#!/bin/bash
tty=no; [ -t 0 ] && tty=yes
printf 'words %d\n' $#
printf '[%s]\n' "$@"
echo "user $(id -un), tty $tty, port ${SSH_CONNECTION##* }, ${FAR_TOKEN-no token}, ${LC_FAR-no LC_FAR}"
echo "to stderr" >&2
[ $tty = yes ] || cat
exit $(($# + 40))
END
chmod +x "$dir/show"
export LC_FAR=sent
E2E_BOUND=600 bounded python3 "$e2e_here/parsing_test.py" "$MCDTP_BIN/parsed-options" "$SHIM" "$e2e_config" "$dir/show" \
  "$(sed -n 's/^ *Port //p' "$e2e_config")" "$other" || fail "see above"
nothing_left
passed
