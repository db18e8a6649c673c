import { parseSync } from 'oxc-parser'

type Node = Readonly<Record<string, unknown>> & { readonly type: string; readonly start: number }

/** What the functions of some sources return, by their names. */
export interface Returns {
  /** `Work`: they do nothing before a unit of work runs them with `yield*`. */
  readonly works: ReadonlySet<string>
  /** `Result`: the caller has to look at whether they are a rejection. */
  readonly results: ReadonlySet<string>
}

/** Reads the declared return types of functions, methods and members of interfaces. */
export function returnsOf(texts: readonly string[]): Returns {
  const works = new Set<string>()
  const results = new Set<string>()
  for (const text of texts)
    for (const [, name = '', type = ''] of text.matchAll(
      /(\w+)(?:<[^>()]*>)?\((?:[^()]|\([^()]*\))*\): ((?:Work<|Promise<)?(?:Result<)?)/g,
    )) {
      if (type.startsWith('Work<')) works.add(name)
      if (type.endsWith('Result<')) results.add(name)
    }
  return { works, results }
}

/**
 * The lines of a source at which a unit of work is made and not run, or at which a result is
 * dropped, with which a rejection would go on as a success.
 */
export function droppedCalls(path: string, text: string, { works, results }: Returns) {
  const lines: number[] = []
  const visit = (node: Node, isUnit: boolean) => {
    if (node.type === 'ExpressionStatement') {
      const { expression, isRun } = ran(node['expression'] as Node)
      const name = nameOf(expression)
      // Methods of tables have names of functions that return a result.
      const isDropped = isRun ? !isMember(expression) && results.has(name) : works.has(name)
      if (isUnit && isDropped) lines.push(text.slice(0, node.start).split('\n').length)
    }
    const inside = Object.hasOwn(node, 'generator') ? node['generator'] === true : isUnit
    for (const child of childrenOf(node)) visit(child, inside)
  }
  visit(parseSync(path, text).program as unknown as Node, false)
  return lines
}

function ran(expression: Node): { readonly expression: Node; readonly isRun: boolean } {
  const isRun = expression.type === 'YieldExpression'
  return { expression: isRun ? (expression['argument'] as Node) : expression, isRun }
}

function isMember(call: Node): boolean {
  return (call['callee'] as Node | undefined)?.type === 'MemberExpression'
}

/** The name of the function or method that is called; empty for another expression. */
function nameOf(call: Node): string {
  const callee = call.type === 'CallExpression' ? (call['callee'] as Node) : undefined
  const named = callee?.type === 'MemberExpression' ? (callee['property'] as Node) : callee
  return typeof named?.['name'] === 'string' ? named['name'] : ''
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node)
    .flat()
    .filter((child): child is Node => typeof (child as Node | null)?.type === 'string')
}
