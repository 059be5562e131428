# Bash library of all tests: source it. No setting of who runs them changes what a program says, sorts, trusts or asks.
unset "${!LC_@}" LANGUAGE
export LANG=C.UTF-8
unset http_proxy https_proxy ftp_proxy all_proxy no_proxy HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY
umask 022
