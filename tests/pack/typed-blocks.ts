import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { documents } from '../../scripts/site/documents.ts'
import { samplesOf } from '../samples/samples.ts'
import { COMPILER, type CommandResult, type EmptyFolder } from './empty-folder.ts'

const TYPES = resolve(import.meta.dirname, '../../node_modules/@types')
const COMMON = {
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  module: 'esnext',
  moduleResolution: 'bundler',
  jsx: 'react-jsx',
  // React and Node are the reader's own.
  typeRoots: [TYPES],
  types: ['node'],
  paths: { react: [`${TYPES}/react`], 'react/jsx-runtime': [`${TYPES}/react/jsx-runtime`] },
}

/** What `create-next-app` and the template `react-ts` of `create-vite` write. */
const SETTINGS = {
  next: {
    ...COMMON,
    target: 'es2017',
    lib: ['dom', 'dom.iterable', 'esnext'],
    esModuleInterop: true,
    isolatedModules: true,
  },
  vite: {
    ...COMMON,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    verbatimModuleSyntax: true,
    moduleDetection: 'force',
    erasableSyntaxOnly: true,
    noUncheckedSideEffectImports: true,
  },
}

/** The names that a reader of the blocks has in a program. */
const NAMES = `
import type { DatabaseSync as Database } from 'node:sqlite'
import type { CreatedSession } from '@bonded/contract'
import type * as integrator from '@bonded/integrator'
import type * as approval from '@bonded/integrator/approval'
import type { verifyWitnessedReceipt } from '@bonded/integrator/witnesses'
import type { requireBearerAuth } from '@modelcontextprotocol/server'
import type { PhoneOptions, requestOf } from '@bonded/phone'
type Transfer = { to: string; cents: number }
type Caller = { owner: string; subjectRef: string; requester: approval.Requester }
declare global {
  const { createGate, verifyReceipt, verifyWebhook }: typeof integrator
  const options: integrator.GateOptions<unknown>, secret: integrator.Secret
  const bond: { workflow: string; action: string; owner: string }
  const context: { display: { label: string; value: string }[] }
  const session_id: string, subject_ref: string, form_digest: string, browser_secret: string
  const accept: () => Promise<string>
  const user: { id: string }, draft: object, form: object, request: Request & { ip: string }
  const save: (form: object, transaction: unknown) => Promise<string>
  const amount: number, publishableKey: string
  const submit: (sessionId: string) => void, report: (error: unknown) => void
  const receipt: string, jwks: integrator.ReceiptKeySet, tenantId: string, sessionId: string
  const { proof, witnesses }: Parameters<typeof verifyWitnessedReceipt>[0]
  const service: { baseUrl: string; serverCredential: string }, owner: string, subjectRef: string
  const DatabaseSync: typeof Database, euros: (cents: number) => string
  const transfer: (args: object, id: string) => Promise<string>
  const { verifier }: Parameters<typeof requireBearerAuth>[0], approvals: approval.Approvals<Transfer>
  const { createApprovals }: typeof approval, requester: approval.Requester, args: Transfer
  const wireOptions: approval.ApprovalsOptions<Transfer>, team: approval.Person[]
  const userOf: (client: string) => Caller
  const scannedText: string, scanned: string, session: CreatedSession
  const { signer, sha256, store, fetchWithTimeout, clock, gather }: PhoneOptions &
    { fetchWithTimeout: PhoneOptions['fetch'] }
  const userAgrees: (request: ReturnType<typeof requestOf>) => Promise<boolean>
  const showEnd: (state: string) => void
}`

/** Compiles every block of TypeScript of the documents against the installed packages. */
export function compileBlocks(
  folder: Pick<EmptyFolder, 'path' | 'run'>,
  framework: keyof typeof SETTINGS,
): CommandResult {
  const project = join(folder.path, `blocks-${framework}`)
  mkdirSync(project)
  const blocks = documents()
    .flatMap(samplesOf)
    .filter(({ language }) => language === 'ts' || language === 'tsx')
  for (const { path, line, language, code } of blocks)
    writeFileSync(
      join(project, `${path.replaceAll(/\W/g, '-')}-${line}.${language}`),
      `${code}\nexport {}\n`,
    )
  writeFileSync(join(project, 'names.d.ts'), NAMES)
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: SETTINGS[framework] }),
  )
  return folder.run([process.execPath, COMPILER, '-p', project])
}
