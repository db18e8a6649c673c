import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Builds the packages that the app uses and packs them into `vendor`, as a registry would deliver
 * them. Run it before `npm ci`, and again after a change of the packages.
 */
const APP = resolve(import.meta.dirname, '..')
const ROOT = resolve(APP, '../..')
const VENDOR = join(APP, 'vendor')
const PACKAGES = ['contract', 'phone']

rmSync(VENDOR, { recursive: true, force: true })
npm(['run', '--silent', 'build', '--', ...PACKAGES], { cwd: ROOT })
for (const name of PACKAGES) pack(name)

function pack(name) {
  const [from, staged] = [join(ROOT, 'packages', name), join(VENDOR, name)]
  mkdirSync(staged, { recursive: true })
  cpSync(join(from, 'dist'), join(staged, 'dist'), { recursive: true })
  const manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  // The condition that leads to the sources of this repository, which are not packed.
  for (const entry of Object.values(manifest.exports)) delete entry['@bonded/source']
  writeFileSync(join(staged, 'package.json'), JSON.stringify(manifest))
  const packed = npm(['pack', '--ignore-scripts', '--json', '--pack-destination', VENDOR], {
    cwd: staged,
  })
  const [{ filename }] = Object.values(JSON.parse(packed))
  // Without the version, package.json and the lockfile stay the same from release to release.
  renameSync(join(VENDOR, filename), join(VENDOR, `${name}.tgz`))
  rmSync(staged, { recursive: true })
}

function npm(args, { cwd }) {
  const { status, stdout } = spawnSync('npm', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed in ${cwd}`)
  return stdout
}
