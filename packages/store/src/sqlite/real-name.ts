import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/** The file that a path names through symbolic links. The file itself need not exist. */
export function realName(file: string): string {
  try {
    return realpathSync(file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
  }
  const folder = realpathSync(dirname(file))
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true
  return isLink ? realName(resolve(folder, readlinkSync(file))) : join(folder, basename(file))
}
