import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEGABYTE = 1_000_000
/** A container's memory disk usually has 64 MB. A larger one may belong to the machine. */
const MAY_FILL_BYTES = 128 * MEGABYTE
const MEMORY_DISK = '/dev/shm'

export interface SmallDisk extends Disposable {
  readonly folder: string
  fill(): void
  makeRoom(): void
}

/**
 * A disk that a test may fill: a mounted tmpfs, or else the memory disk of a container.
 *
 * @param megabytes the size of the tmpfs
 */
export function smallDisk(megabytes = 8): SmallDisk | undefined {
  const mounted = mkdtempSync(join(tmpdir(), 'bonded-disk-'))
  if (
    spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'none', mounted]).status === 0
  ) {
    return diskAt(mounted, () => {
      // Lazily, because a killed process may still have open files.
      spawnSync('umount', ['-l', mounted])
      rmSync(mounted, { recursive: true, force: true })
    })
  }
  rmSync(mounted, { recursive: true })
  if (!existsSync(MEMORY_DISK) || sizeBytes(MEMORY_DISK) > MAY_FILL_BYTES) return undefined
  const folder = mkdtempSync(join(MEMORY_DISK, 'bonded-'))
  return diskAt(folder, () => rmSync(folder, { recursive: true, force: true }))
}

function sizeBytes(folder: string): number {
  const { blocks, bsize } = statfsSync(folder)
  return blocks * bsize
}

function diskAt(folder: string, dispose: () => void): SmallDisk {
  const filler = join(folder, 'filler')
  return {
    folder,
    fill() {
      for (let chunk = MEGABYTE; chunk >= 1; chunk = Math.floor(chunk / 2)) {
        try {
          for (;;) appendFileSync(filler, Buffer.alloc(chunk))
        } catch (failure) {
          if ((failure as NodeJS.ErrnoException).code !== 'ENOSPC') throw failure
        }
      }
    },
    makeRoom: () => rmSync(filler, { force: true }),
    [Symbol.dispose]: dispose,
  }
}
