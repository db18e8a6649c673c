import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Fault } from './fault.ts'

/** The workspaces' own links in `node_modules`: copied as links, so that they lead into the copy. */
const OWN_SCOPE = '@bonded'
const COPIED = ['packages', 'package.json']

/**
 * A copy of the sources to break, so that the working tree is never touched. What is installed is linked. The recorded
 * vectors are left out: these tests must notice without them, as in any clone.
 */
export class Overlay implements Disposable {
  readonly root: string

  constructor(from: string) {
    this.root = mkdtempSync(join(tmpdir(), 'bonded-faults-'))
    const isInstalled = (path: string) => basename(path) === 'node_modules'
    for (const name of COPIED)
      cpSync(join(from, name), join(this.root, name), {
        recursive: true,
        filter: (path) => !isInstalled(path),
      })
    const [installed, linked] = [join(from, 'node_modules'), join(this.root, 'node_modules')]
    mkdirSync(linked)
    for (const name of readdirSync(installed)) {
      if (name === OWN_SCOPE)
        cpSync(join(installed, name), join(linked, name), {
          recursive: true,
          verbatimSymlinks: true,
        })
      else if (!name.startsWith('.')) symlinkSync(join(installed, name), join(linked, name))
    }
  }

  read({ file }: Pick<Fault, 'file'>): string {
    return readFileSync(join(this.root, file), 'utf8')
  }

  /** Does something while the fault is in the copy. */
  async broken<T>(fault: Fault, act: () => Promise<T>): Promise<T> {
    const path = join(this.root, fault.file)
    const source = this.read(fault)
    writeFileSync(
      path,
      source.replace(fault.find, () => fault.replace),
    )
    try {
      return await act()
    } finally {
      writeFileSync(path, source)
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
