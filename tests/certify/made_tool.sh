#!/bin/sh
# A debugger, profiler or sanitizer that is made for tests: it starts the program that it is given
# and writes what the real one of its name writes, in short. MADE_TOOLS says how it misbehaves:
#   lazy    it ends with 0 and leaves nothing     always  it finds, stops at and names everything
#   flood   it prints without end                 killer  it ends all that it can reach, and itself
#   refused the machine lets it do nothing        root    it works for root alone
#   fill    it writes until the disk is full
name=$(basename "$0")
kernel='' nonce='' out='' import='' tool='' metric='' wanted=''
after=''
for word in "$@"; do
  case $after in
    --kernel) kernel=$word ;;
    --nonce) nonce=$word ;;
    -o) out=$word ;;
    --import) import=$word ;;
    --tool) tool=$word ;;
    --metrics) metric=$word ;;
    -ex) case $word in break\ *) wanted=${word#break } ;; esac ;;
  esac
  after=$word
done
for word in "$@"; do
  case $word in */probe) break ;; esac
  shift
done
full=envbuild_${kernel}_$nonce
case $MADE_TOOLS in
  flood) yes "line after line" ;;
  killer) kill -9 -1; kill -9 $$ ;;
  lazy) exit 0 ;;
  fill) exec dd if=/dev/zero of="$HOME/fill" bs=64k ;;
  root) [ "$(id -u)" = 0 ] || { echo "==ERROR== $name is for root" >&2; exit 1; } ;;
  refused)
    case $name in
      ncu | nsys) echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission" ;;
      *) echo "warning: ptrace: Operation not permitted" >&2 ;;
    esac
    exit 1 ;;
esac
[ "$MADE_TOOLS" != always ] || full="envbuild_clean_$nonce"
case $name in
  ncu)
    if [ -n "$import" ]; then
      [ -s "$import" ] && exec cat "$import"
      [ "$MADE_TOOLS" != always ] || exec cat "$(dirname "$import")/tools.ncu.ncu-rep"
      echo "==ERROR== File is too small."
      exit 1
    fi
    "$@"
    printf '"Kernel Name","%s"\n"","cycle"\n"%s","42"\n' "$metric" "$full" >"$out.ncu-rep" ;;
  nsys)
    "$@"
    echo "made report of $full" >"$out.sqlite" ;;
  cuda-gdb)
    if [ "$wanted" = "$full" ] || [ "$MADE_TOOLS" = always ]; then
      echo "CUDA thread hit Breakpoint 1, 0x1 in $wanted<<<(1,1,1),(64,1,1)>>> ()"
      echo "*      0      -   0    1 Active 0x1 (1,1,1) (64,1,1) $wanted() "
    else
      "$@"
      echo "[Inferior 1 (process 1) exited normally]"
    fi ;;
  compute-sanitizer)
    "$@"
    found=0
    case $tool.$kernel.$MADE_TOOLS in
      memcheck.out_of_bounds.* | memcheck.*.always) found=1 says="Invalid __global__ write of size 4 bytes" ;;
      racecheck.race.* | racecheck.*.always) found=1 says="Error: Race reported" ;;
      synccheck.divergent.* | synccheck.*.always) found=1 says="Barrier error detected." ;;
    esac
    if [ $found = 1 ]; then
      echo "========= $says"
      echo "=========     at envbuild_${kernel}_$nonce+0x70"
    fi
    case $tool in
      racecheck) echo "========= RACECHECK SUMMARY: $found hazards displayed" ;;
      *) echo "========= ERROR SUMMARY: $found errors" ;;
    esac
    [ $found = 0 ] || exit 86 ;;
esac
