import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import type { Guard } from './engine/level.ts'

/** The files that have guards, from the root. */
export const GUARD_FILES: Readonly<Record<Guard['file'], string>> = {
  'checks.ts': 'packages/core/src/protocol/checks.ts',
  'gate-checks.ts': 'packages/contract/src/gate-checks.ts',
  'client-data.ts': 'packages/attestation/src/webauthn/client-data.ts',
  'quorum-checks.ts': 'packages/contract/src/quorum-checks.ts',
  'create-session.ts': 'packages/core/src/operations/session/create-session.ts',
  'verify-receipt.ts': 'packages/integrator/src/receipt/verify-receipt.ts',
  'verify-log.ts': 'packages/integrator/src/receipt/verify-log.ts',
  'witnesses.ts': 'packages/integrator/src/receipt/witnesses.ts',
}

/** A node of a syntax tree. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

/** A part of a source that is a guard, and its replacement without the guard. */
interface Place {
  readonly start: number
  readonly end: number
  readonly without: string
  readonly name: string
}

/** The source without a guard. @throws {RangeError} if it has none of this name */
export function withoutGuard(source: string, name: string): string {
  const places = placesIn(source).filter((place) => place.name === name)
  if (places.length === 0) throw new RangeError(`there is no guard ${name}`)
  return places.reduceRight(
    (text, { start, end, without }) => text.slice(0, start) + without + text.slice(end),
    source,
  )
}

/** Every guard of the files under the root, in their order, with the lines at which it begins. */
export function allGuards(root: string): readonly (Guard & { readonly lines: number[] })[] {
  return (Object.entries(GUARD_FILES) as [Guard['file'], string][]).flatMap(([file, path]) => {
    const source = readFileSync(join(root, path), 'utf8')
    const found = new Map<string, number[]>()
    for (const { name, start } of placesIn(source))
      found.set(name, [...(found.get(name) ?? []), source.slice(0, start).split('\n').length])
    return [...found].map(([name, lines]) => ({ file, name, lines }))
  })
}

/**
 * The name of a rejection: a text, the argument of `reject`, or an object with either.
 *
 * @returns undefined for any other value
 */
function nameOf(value: Node | null | undefined): unknown {
  if (value?.type === 'CallExpression') {
    const [reason] = value['arguments'] as readonly Node[]
    return (value['callee'] as Node)['name'] === 'reject' ? reason?.['value'] : undefined
  }
  if (value?.type !== 'ObjectExpression') return value?.['value']
  const named = (value['properties'] as readonly Node[]).map((each) =>
    each.type === 'SpreadElement'
      ? nameOf(each['argument'] as Node)
      : (each['key'] as Node)['name'] === 'reason' && nameOf(each['value'] as Node),
  )
  return named.find((each) => typeof each === 'string')
}

/**
 * Rows of a table are calls with the step and the reason; the other guards are conditions that
 * return their name.
 */
function placesIn(source: string): readonly Place[] {
  const places: Place[] = []
  const textOf = (node: unknown) => source.slice((node as Node).start, (node as Node).end)
  const add = ({ start, end }: Node, name: unknown, without: string) => {
    if (typeof name === 'string') places.push({ start, end, name, without })
  }
  const visit = (node: Node): void => {
    if (node.type === 'ArrayExpression')
      for (const row of node['elements'] as readonly Node[])
        if (row.type === 'CallExpression') {
          const [step, reason] = row['arguments'] as readonly Node[]
          if (typeof reason?.['value'] === 'string') add(row, step?.['value'], '...[]')
        }
    if (node.type === 'IfStatement') {
      const { argument } = node['consequent'] as { readonly argument?: Node | null }
      add(node, nameOf(argument), '')
      if (argument?.type === 'ConditionalExpression') {
        // Without the guard, the checks that follow must still run.
        const condition = `(${textOf(node['test'])}) && (${textOf(argument['test'])})`
        const instead = `if (${condition}) return ${textOf(argument['consequent'])}`
        add(node, (argument['alternate'] as Node)['value'], instead)
        return
      }
    }
    if (node.type === 'ConditionalExpression') {
      const alternate = node['alternate'] as Node
      const isText = alternate.type === 'Literal'
      add(alternate, nameOf(alternate), isText ? 'undefined' : textOf(node['consequent']))
    }
    for (const member of Object.values(node))
      for (const child of Array.isArray(member) ? member : [member])
        if (typeof (child as Node | null)?.type === 'string') visit(child as Node)
  }
  visit(parseSync('guards.ts', source).program as unknown as Node)
  return places.toSorted((a, b) => a.start - b.start)
}
