import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * `npm run pack:linux -- FOLDER`: writes one tarball with the compiled service and its parts, what
 * they need at run time, the pinned Node, the bill of materials, the units of systemd, and the
 * files for nginx, Prometheus, Grafana, and the root keys. It unpacks to `bonded`.
 */
const ROOT = resolve(import.meta.dirname, '..')
const NODE = `node-linux-${process.arch}`
/** The same as in deploy/collect-image.mjs. */
const DELIVERED = ['service', 'console', 'ciba']
const { version } = JSON.parse(
  readFileSync(join(ROOT, 'packages/service/package.json'), 'utf8'),
) as { readonly version: string }

const [destination] = process.argv.slice(2)
if (destination === undefined) throw new Error('usage: npm run pack:linux -- FOLDER')
if (process.platform !== 'linux') throw new Error('npm installs the Node of the tarball on Linux')
mkdirSync(destination, { recursive: true })
const work = mkdtempSync(join(tmpdir(), 'bonded-pack-'))
try {
  run(ROOT, 'npm', 'run', '--silent', 'build', '--', ...DELIVERED)
  const source = join(work, 'source')
  for (const file of ['package.json', 'package-lock.json', 'LICENSE', 'packages', 'deploy'])
    cpSync(join(ROOT, file), join(source, file), {
      recursive: true,
      filter: (path) => !/\/(?:node_modules|src|tests)$/.test(path),
    })
  for (const file of ['bank', 'demo'])
    cpSync(
      join(ROOT, 'examples', file, 'package.json'),
      join(source, 'examples', file, 'package.json'),
    )
  const install = 'ci --omit=dev --omit=optional --ignore-scripts --prefer-offline'
  const workspaces = DELIVERED.map((name) => `--workspace=packages/${name}`)
  run(source, 'npm', ...install.split(' '), ...workspaces)
  const target = join(work, 'bonded')
  run(source, process.execPath, 'deploy/collect-image.mjs', target)
  rmSync(join(target, 'healthcheck.mjs'))
  const bill = execFileSync(
    process.execPath,
    ['deploy/sbom.mjs', 'service', '--installed', target, '--node'],
    { cwd: source, maxBuffer: 2 ** 26 },
  )
  writeFileSync(join(target, 'sbom.cdx.json'), bill)
  const node = join(ROOT, 'node_modules', NODE)
  cpSync(join(node, 'bin/node'), join(target, 'node'))
  cpSync(join(node, 'LICENSE'), join(target, 'node.LICENSE'))
  cpSync(join(ROOT, 'deploy/systemd/bonded'), join(target, 'bonded'))
  cpSync(join(ROOT, 'deploy/systemd'), join(target, 'systemd'), {
    recursive: true,
    filter: (path) => path !== join(ROOT, 'deploy/systemd/bonded'),
  })
  for (const folder of ['nginx', 'prometheus', 'grafana', 'root-keys'])
    cpSync(join(ROOT, 'deploy', folder), join(target, folder), { recursive: true })
  const tarball = resolve(destination, `bonded-${version}-linux-${process.arch}.tar.gz`)
  run(
    work,
    'tar',
    '--sort=name',
    '--owner=0',
    '--mode=u+rwX,go+rX,go-w',
    '--group=0',
    '--numeric-owner',
    '-czf',
    tarball,
    'bonded',
  )
  console.log(tarball)
} finally {
  rmSync(work, { recursive: true, force: true })
}

function run(cwd: string, command: string, ...args: string[]): void {
  execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
}
