import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { closureOf, NAMES } from './packages.ts'

/**
 * `npm run pack -- FOLDER [NAME]…`: writes the tarballs that are published, of all packages or of
 * these with those of ours that they need, and prints the line that installs them. It builds what
 * has no `dist` yet. The source condition and the fields for development are left out of their
 * manifests, because the sources are not in them.
 */
const ROOT = resolve(import.meta.dirname, '..')
const PACKAGES = join(ROOT, 'packages')
/** Fields that only the repository uses. */
const OWN_FIELDS = ['@bonded/source', 'scripts', 'devDependencies']

const [destination, ...wanted] = process.argv.slice(2)
if (destination === undefined) throw new Error('usage: npm run pack -- FOLDER [NAME]…')
mkdirSync(destination, { recursive: true })
for (const name of wanted) if (!NAMES.includes(name)) throw new Error(`there is no package ${name}`)
const names = wanted.length === 0 ? NAMES : closureOf(wanted)
const unbuilt = names.filter((name) => !existsSync(join(PACKAGES, name, 'dist')))
if (unbuilt.length > 0) build(unbuilt)
const tarballs = pack(names, resolve(destination))
for (const tarball of tarballs) console.log(tarball)
// For a reader. The paths above are for scripts.
console.error(`Install them in your project:\n  npm install ${tarballs.map(quoted).join(' ')}`)

/** A tarball without code would install, and fail at the first import. */
function build(wanting: readonly string[]): void {
  execFileSync(process.execPath, [join(import.meta.dirname, 'build.ts'), ...wanting], {
    // The paths of the tarballs are the only output.
    stdio: ['ignore', 2, 'inherit'],
  })
}

/** As an argument of a shell. */
function quoted(path: string): string {
  return /^[\w./:@-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

/** Returns the paths of the tarballs. */
function pack(of: readonly string[], folder: string): readonly string[] {
  const work = mkdtempSync(join(tmpdir(), 'bonded-pack-'))
  try {
    const listed = npmPack(
      of.map((name) => join(PACKAGES, name)),
      work,
    )
    const unpacked = listed.map((tarball, index) => {
      const target = join(work, String(index))
      mkdirSync(target)
      execFileSync('tar', ['-xzf', tarball, '-C', target])
      rmSync(tarball)
      const path = join(target, 'package/package.json')
      const manifest = published(readFileSync(path, 'utf8'))
      writeFileSync(path, `${JSON.stringify(manifest, undefined, 2)}\n`)
      return join(target, 'package')
    })
    return npmPack(unpacked, folder)
  } finally {
    rmSync(work, { recursive: true })
  }
}

/**
 * npm selects the files, in both runs by the same rules. One run packs all packages, because the
 * start of npm takes most of its time.
 */
function npmPack(packages: readonly string[], destination: string): readonly string[] {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', destination]
  const printed = execFileSync('npm', [...args, ...packages], { encoding: 'utf8' })
  const packed = JSON.parse(printed) as readonly { readonly filename: string }[]
  if (packed.length !== packages.length) throw new Error(`npm packed nothing of ${packages.join()}`)
  return packed.map(({ filename }) => join(destination, filename))
}

type Manifest = Readonly<Record<string, unknown>> & {
  readonly publishConfig: Readonly<Record<string, unknown>>
}

function published(text: string): Readonly<Record<string, unknown>> {
  const { publishConfig, sideEffects, ...rest } = JSON.parse(text, (key, value: unknown) =>
    OWN_FIELDS.includes(key) ? undefined : value,
  ) as Manifest
  // In the repository, npm would compare them with the Node that runs npm, which runs no package.
  const { engines, ...access } = publishConfig
  const manifest = { ...rest, engines, publishConfig: access }
  // The path of a source is of no use without the sources.
  return sideEffects === undefined || !Array.isArray(sideEffects)
    ? { ...manifest, sideEffects }
    : { ...manifest, sideEffects: sideEffects.filter((path) => !String(path).startsWith('./src')) }
}
