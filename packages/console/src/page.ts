import type { AuditTarget } from '@bonded/core/domain/audit'
import type { Service } from '@bonded/core/operations/service'
import type { Html } from './html.ts'
import type { Role } from './roles.ts'
import type { SignedIn } from './sessions.ts'

/** What the address of a page names: parts of its path, and its query. */
export interface Asked {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** What a page is drawn with beside its data. */
export interface View {
  readonly now: number
  readonly session: SignedIn
  readonly publicOrigin: string
}

interface Named<Input> {
  /** Such as `/sessions/:session`. */
  readonly path: string
  /** The words of the command that does the same, under which the audit log has it. */
  readonly action: string
  readonly role: Role
  readonly title: string
  /** What the address asks for; undefined if there can be no such thing. */
  readonly input: (asked: Asked) => Input | undefined
  /** What the audit log says it is about. */
  readonly target: (input: Input) => AuditTarget
}

/** A page: a read of the service, and a function from what it returned to markup. */
export interface Page<Input, Data> extends Named<Input> {
  readonly read: (service: Service, input: Input) => Promise<Data>
  readonly draw: (data: Data, view: View, input: Input) => Html
}

/** An action: the page that asks, and what the answer does. */
export interface Action<Input, Data> extends Page<Input, Data> {
  /** The command that changes something. `action` is the one that the question reads with. */
  readonly changes: string
  /** What its button says. */
  readonly verb: string
  readonly run: (service: Service, input: Input) => Promise<unknown>
  /** The page that shows the result. */
  readonly next: (input: Input) => string
}

/** A page or an action in a list of different ones. */
export type AnyPage = Page<never, never> | Action<never, never>

/** Checks the types of a page, and lets it into a list. */
export function page<Input, Data>(given: Page<Input, Data>): Page<never, never> {
  return given as unknown as Page<never, never>
}

/** Checks the types of an action, and lets it into a list. */
export function action<Input, Data>(given: Action<Input, Data>): Action<never, never> {
  return given as unknown as Action<never, never>
}

/** For a page whose address says all. */
export const NOTHING = { input: () => ({}), target: () => ({}) }

/** The parts of a path that match the pattern of a page; undefined if it does not. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries())
    if (part.startsWith(':')) params[part.slice(1)] = given[index] ?? ''
    else if (part !== given[index]) return undefined
  return params
}
