import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Argument, Command } from 'commander'
import { type Options, withService } from '@bonded/cli/program/open'
import { print } from '@bonded/cli/program/output'
import { readWorkflows } from '@bonded/cli/tenant/workflow-option'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { createTenant } from '@bonded/core/operations/admin/tenants'
import { readSandboxConfig } from '../sandbox-options.ts'
import {
  detect,
  filesOf,
  type Framework,
  FRAMEWORKS,
  ignoredBy,
  POLICY_FILE,
} from './frameworks.ts'

interface InitOptions extends Options {
  readonly name: string
  readonly port: string
}

const NAMES = Object.keys(FRAMEWORKS) as Framework[]
/** What a folder may have to count as new: what npm, git, and a sandbox write. */
const OF_A_NEW_PROJECT =
  /^(?:package(?:-lock)?\.json|node_modules|\.git|\.gitignore|\.bonded|README\.md|LICENSE)$/
/** Where the files go in a project that has a program of its own. */
const SUBFOLDER = 'bonded-example'

/** `bonded init`: writes a gated form into a project, with a tenant of the sandbox. */
export function initCommand(): Command {
  return new Command('init')
    .description('Write a gated form for your framework: route, page, policy, and .env')
    .addArgument(new Argument('[framework]', 'The framework, if not detected').choices(NAMES))
    .option('--name <name>', 'Name that the phone shows to the user', 'My shop')
    .option('--port <port>', 'Port of the form', '8788')
    .action(async (given: Framework | undefined, options: InitOptions) => {
      const framework = given ?? (await choose())
      const root = process.cwd()
      const isNew = readdirSync(root).every((name) => OF_A_NEW_PROJECT.test(name))
      const folder = isNew ? root : join(root, SUBFOLDER)
      const files = new Map(filesOf(framework))
      const manifest = files.get('package.json')
      files.delete('package.json')
      rejectExisting(folder, [...files.keys(), '.env', ...(isNew ? [] : ['package.json'])])

      const origin = readSandboxConfig('init', options).publicOrigin
      const env = await createEnvironment(origin, options)
      for (const [path, content] of files) write(join(folder, path), content)
      if (manifest !== undefined)
        writeManifest(join(folder, 'package.json'), manifest.toString(), options.port)
      // It has the server credential.
      write(join(folder, '.env'), env, 0o600)
      ignore(join(folder, '.gitignore'), ignoredBy(framework))

      const written = [...files.keys(), '.env'].toSorted()
      print(options, { framework, folder, files: written }, [
        `Wrote the example for ${framework} into ${folder}: ${written.join(', ')}`,
        '',
        'Start the sandbox in one terminal:',
        '  npx bonded serve',
        'Start the form in another:',
        ...(isNew ? [] : [`  cd ${SUBFOLDER}`]),
        ...startOf(framework).map((line) => `  ${line}`),
      ])
    })
}

async function choose(): Promise<Framework> {
  const [first, ...others] = detect(process.cwd())
  if (first !== undefined && others.length === 0) return first
  const question = `Which framework? ${NAMES.join(', ')}`
  if (!process.stdin.isTTY)
    throw new OperatorError(`Name the framework: bonded init ${NAMES.join(' | ')}`, {
      code: 'invalid',
    })
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    for (;;) {
      const answer = (await terminal.question(`${question}: `)).trim().toLowerCase()
      const found = NAMES.find((name) => name === answer)
      if (found !== undefined) return found
    }
  } finally {
    terminal.close()
  }
}

/** Checks before anything is written, so that a rejected command leaves nothing behind. */
function rejectExisting(folder: string, paths: readonly string[]): void {
  const existing = paths.filter((path) => existsSync(join(folder, path)))
  if (existing.length > 0)
    throw new OperatorError(
      `${folder} has ${existing.join(', ')} already. Run bonded init in an empty folder, or move them`,
      { code: 'conflict' },
    )
}

/** Creates the tenant, and returns the variables of its form. */
async function createEnvironment(origin: string, options: InitOptions): Promise<string> {
  const { name, port } = options
  const { publishableKey, serverCredential } = await withService(options, (service) =>
    createTenant(service, {
      name,
      environment: 'sandbox',
      origins: [`http://localhost:${port}`],
      workflows: readWorkflows(POLICY_FILE),
      demo: true,
      // A second project of the same sandbox.
      allowSimilarName: true,
    }),
  )
  return [
    `# The service, the keys of the tenant "${name}", and the port of the form.`,
    `BONDED_ORIGIN=${origin}`,
    `BONDED_PUBLISHABLE_KEY=${publishableKey}`,
    `BONDED_SERVER_CREDENTIAL=${serverCredential.reveal()}`,
    `PORT=${port}`,
    '',
  ].join('\n')
}

type Manifest = Readonly<Record<string, Readonly<Record<string, string>> | string | boolean>>

/** Adds what the example needs to the package.json of a new project. */
function writeManifest(path: string, example: string, port: string): void {
  const existing = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Manifest) : {}
  const wanted = JSON.parse(example.replaceAll('8788', port)) as Manifest
  const merged = (field: string) => ({
    ...Object.fromEntries(
      // The repository's own copy of the package; the project has installed its own.
      Object.entries(wanted[field] ?? {}).filter(([, version]) => !version.startsWith('file:')),
    ),
    ...(existing[field] as object | undefined),
  })
  write(
    path,
    `${JSON.stringify(
      {
        name: basename(dirname(resolve(path))).toLowerCase(),
        private: true,
        ...existing,
        type: 'module',
        scripts: merged('scripts'),
        dependencies: merged('dependencies'),
        ...(wanted['devDependencies'] !== undefined && {
          devDependencies: merged('devDependencies'),
        }),
      },
      undefined,
      2,
    )}\n`,
  )
}

function write(path: string, content: string | Buffer, mode = 0o666): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content, { mode })
}

function ignore(path: string, wanted: readonly string[]): void {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const missing = wanted.filter((line) => !text.split('\n').includes(line))
  const separator = text === '' || text.endsWith('\n') ? '' : '\n'
  if (missing.length > 0) writeFileSync(path, `${text}${separator}${missing.join('\n')}\n`)
}

function startOf(framework: Framework): readonly string[] {
  return framework === 'django'
    ? ['python3 -m pip install -r requirements.txt', 'set -a; . ./.env; python3 server.py']
    : ['npm install', 'npm start']
}
