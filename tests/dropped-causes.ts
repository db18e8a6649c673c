import { parseSync } from 'oxc-parser'

type Node = Readonly<Record<string, unknown>> & { readonly type: string; readonly start: number }

/** What a handler does with a failure: it throws, or reports to a log, a terminal, or a caller. */
const TELLS = /^(console|log|process\.stderr|reject|refuse|fail|problem|mistake|warn|report)\b/

/**
 * The lines of a source at which a failure is caught and another one is thrown or reported, without
 * anything of the first. A handler that returns a value says nothing false, so it may drop it.
 */
export function droppedCauses(path: string, text: string): readonly number[] {
  const lines: number[] = []
  const { program } = parseSync(path, text)
  const visit = (node: Node) => {
    const handler = handlerOf(node)
    if (handler !== undefined) {
      const body = text.slice(handler.body.start, handler.body['end'] as number)
      const isUsed = handler.names.some((name) => new RegExp(`(?<![\\w.])${name}\\b`).test(body))
      if (!isUsed && tells(handler.body, text))
        lines.push(text.slice(0, node.start).split('\n').length)
    }
    for (const child of childrenOf(node)) visit(child)
  }
  visit(program as unknown as Node)
  return lines
}

/** A `catch` clause, or what a promise calls for a failure, with the names that it binds. */
function handlerOf(
  node: Node,
): { readonly names: readonly string[]; readonly body: Node } | undefined {
  if (node.type === 'CatchClause')
    return { names: namesIn(node['param']), body: node['body'] as Node }
  if (node.type !== 'CallExpression') return undefined
  const callee = node['callee'] as Node
  const method = (callee['property'] as Node | undefined)?.['name']
  if (callee.type !== 'MemberExpression' || (method !== 'catch' && method !== 'then'))
    return undefined
  const given = (node['arguments'] as readonly Node[])[method === 'then' ? 1 : 0]
  if (given?.type !== 'ArrowFunctionExpression' && given?.type !== 'FunctionExpression')
    return undefined
  return { names: namesIn(given['params']), body: given['body'] as Node }
}

function tells(body: Node, text: string): boolean {
  const all = [body, ...descendantsOf(body)]
  return all.some((node) => {
    if (node.type === 'ThrowStatement') return true
    // A text with spaces is a sentence, which is read instead of the failure.
    if (node.type === 'Literal' || node.type === 'TemplateElement')
      return /['"`}].*\w \w/.test(text.slice(node.start - 1, node['end'] as number))
    if (node.type === 'NewExpression')
      return sourceOf(node['callee'] as Node, text).endsWith('Error')
    return node.type === 'CallExpression' && TELLS.test(sourceOf(node['callee'] as Node, text))
  })
}

function namesIn(pattern: unknown): readonly string[] {
  return descendantsOf({ type: 'Pattern', start: 0, pattern })
    .filter(({ type }) => type === 'Identifier')
    .map(({ name }) => String(name))
}

function descendantsOf(node: Node): readonly Node[] {
  return childrenOf(node).flatMap((child) => [child, ...descendantsOf(child)])
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof (value as Node | null)?.type === 'string')
}

function sourceOf({ start, end }: Node, text: string): string {
  return text.slice(start, end as number)
}
