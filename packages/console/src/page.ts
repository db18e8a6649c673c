import type { TenantId } from '@bonded/contract'
import type { AuditTarget } from '@bonded/core/domain/audit'
import type { Service } from '@bonded/core/operations/service'
import type { Html } from './html.ts'
import type { Role } from './roles.ts'
import type { SignedIn } from './sessions.ts'
import { namesOf } from './tenant-names.ts'

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
  /** Of the tenants of its data. */
  readonly names: ReadonlyMap<TenantId, string>
}

interface About {
  /** Such as `/sessions/:session`. */
  readonly path: string
  /** The members of a query that it reads. It sees no others. */
  readonly query?: readonly string[]
  /** The words of the command that does the same, under which the audit log has it. */
  readonly action: string
  readonly role: Role
  readonly title: string
  /** Whether a script reads it again. What it replaces has the class `live`. */
  readonly isLive?: boolean
}

/** A page: a read of the service, and a function from what it returned to markup. */
interface Page<Input, Data> extends About {
  /** What the address asks for; undefined if there can be no such thing. */
  readonly input: (asked: Asked) => Input | undefined
  /** What the audit log says it is about. */
  readonly target: (input: Input) => AuditTarget
  readonly read: (service: Service, input: Input) => Promise<Data>
  /** The tenants that it shows by their names. */
  readonly tenants?: (data: Data, input: Input) => readonly TenantId[]
  readonly draw: (data: Data, view: View, input: Input) => Html
  /** What to say, and where to go on, if the read finds nothing. */
  readonly missing?: (input: Input) => Html
}

interface Change {
  /** The command that changes something. `action` is the one that the question reads with. */
  readonly changes: string
  /** What its button says. */
  readonly verb: string
}

/** An action: the page that asks, and what the answer does. */
interface Action<Input, Data> extends Page<Input, Data>, Change {
  readonly run: (service: Service, input: Input) => Promise<unknown>
  /** The page that shows the result. */
  readonly next: (input: Input) => string
}

/** A page for what an address asked for. */
export interface Opened {
  readonly target: AuditTarget
  /** Reads the data. Returns how it is drawn. */
  readonly read: (service: Service) => Promise<(view: Omit<View, 'names'>) => Html>
  readonly missing: Html | undefined
}

/** An action for what an address asked for. */
export interface OpenedAction extends Opened {
  readonly run: (service: Service) => Promise<unknown>
  readonly next: string
}

export interface PageRoute extends About {
  /** Undefined if there can be no such thing. */
  readonly open: (asked: Asked) => Opened | undefined
}

export interface ActionRoute extends About, Change {
  readonly open: (asked: Asked) => OpenedAction | undefined
}

/** A page or an action in the list of all. */
export type Route = PageRoute | ActionRoute

export function page<Input, Data>(given: Page<Input, Data>): PageRoute {
  return { ...given, open: (asked) => openedBy(given, asked)?.opened }
}

export function action<Input, Data>(given: Action<Input, Data>): ActionRoute {
  const { changes, verb, run, next } = given
  return {
    ...page(given),
    changes,
    verb,
    open(asked) {
      const found = openedBy(given, asked)
      if (found === undefined) return undefined
      const { input, opened } = found
      return {
        ...opened,
        async run(service) {
          // The question reads the same, so that an address that mixes two tenants has no effect.
          await given.read(service, input)
          return run(service, input)
        },
        next: next(input),
      }
    },
  }
}

function openedBy<Input, Data>(
  { query: members = [], input: inputOf, target, read, tenants, draw, missing }: Page<Input, Data>,
  { params, query }: Asked,
): { readonly input: Input; readonly opened: Opened } | undefined {
  const known = new URLSearchParams([...query].filter(([name]) => members.includes(name)))
  const input = inputOf({ params, query: known })
  if (input === undefined) return undefined
  const opened: Opened = {
    target: target(input),
    async read(service) {
      const data = await read(service, input)
      const names = await namesOf(service, tenants?.(data, input) ?? [])
      return (view) => draw(data, { ...view, names }, input)
    },
    missing: missing?.(input),
  }
  return { input, opened }
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
