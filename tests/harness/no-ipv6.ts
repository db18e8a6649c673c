import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The number of the system call `socket`. */
const SOCKET: Readonly<Record<string, number>> = { x64: 41, arm64: 198 }
const AF_INET6 = 10
const EAFNOSUPPORT = 97

/** Instructions of a filter for system calls (BPF): code, jumps, and value (linux/filter.h). */
const [LOAD, JUMP_IF_EQUAL, RETURN] = [0x20, 0x15, 0x06]
const FAIL = 0x0005_0000
const ALLOW = 0x7fff_0000
/** In the description of a call: its number, and the first argument. */
const [NUMBER, FIRST_ARGUMENT] = [0, 16]

/**
 * Writes a filter, for `bwrap --seccomp`, that makes sockets of IPv6 fail as in a kernel that was
 * started with `ipv6.disable=1`.
 *
 * @returns its path
 */
export function noIpv6Filter(folder: string): string {
  const instructions = [
    [LOAD, 0, 0, NUMBER],
    [JUMP_IF_EQUAL, 0, 3, SOCKET[process.arch] ?? -1],
    [LOAD, 0, 0, FIRST_ARGUMENT],
    [JUMP_IF_EQUAL, 0, 1, AF_INET6],
    [RETURN, 0, 0, FAIL + EAFNOSUPPORT],
    [RETURN, 0, 0, ALLOW],
  ] as const
  const filter = Buffer.alloc(8 * instructions.length)
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    filter.writeUInt16LE(code, 8 * index)
    filter.writeUInt8(ifTrue, 8 * index + 2)
    filter.writeUInt8(ifFalse, 8 * index + 3)
    filter.writeUInt32LE(value, 8 * index + 4)
  }
  const file = join(folder, 'no-ipv6.bpf')
  writeFileSync(file, filter)
  return file
}
