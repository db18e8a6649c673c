/*
 * The part of a document that the pages draw with, for tests without a browser. It has no layout:
 * each element says that it fills a view of its own size, unless a test places it.
 */

type Listener = (event: object) => void

export class SmallText {
  data: string
  parent: SmallElement | undefined

  constructor(data = '') {
    this.data = data
  }

  get textContent(): string {
    return this.data
  }
}

export type SmallNode = SmallElement | SmallText

export class SmallElement {
  readonly tag: string
  readonly attributes = new Map<string, string>()
  readonly listeners = new Map<string, Listener[]>()
  readonly styles = new Map<string, string>()
  readonly owner: SmallDocument
  nodes: SmallNode[] = []
  parent: SmallElement | undefined
  disabled = false
  value = ''
  open = false
  box = { top: 0, bottom: 10, height: 10 }
  offsetHeight = 10

  constructor(tag: string, owner: SmallDocument) {
    this.tag = tag
    this.owner = owner
  }

  readonly style = {
    setProperty: (name: string, value: string, priority = '') =>
      void this.styles.set(name, priority === '' ? value : `${value} !${priority}`),
  }
  readonly classList = {
    add: (name: string) => this.classList.toggle(name, true),
    contains: (name: string) => this.#classes().includes(name),
    toggle: (name: string, isOn = !this.classList.contains(name)) => {
      const others = this.#classes().filter((each) => each !== name)
      this.setAttribute('class', [...others, ...(isOn ? [name] : [])].join(' '))
    },
  }

  #classes(): string[] {
    return (this.getAttribute('class') ?? '').split(' ').filter(Boolean)
  }

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value)
    if (name === 'value') this.value = value
  }
  getAttribute(name: string): string | null {
    return this.attributes.get(name) ?? null
  }
  removeAttribute(name: string): void {
    this.attributes.delete(name)
  }
  append(...added: (SmallNode | string)[]): void {
    for (const each of added) {
      const node = typeof each === 'string' ? new SmallText(each) : each
      node.parent?.nodes.splice(node.parent.nodes.indexOf(node), 1)
      node.parent = this
      this.nodes.push(node)
    }
  }
  replaceChildren(...added: (SmallNode | string)[]): void {
    this.nodes = []
    this.append(...added)
  }
  remove(): void {
    if (this.parent !== undefined)
      this.parent.nodes = this.parent.nodes.filter((node) => node !== this)
  }
  addEventListener(type: string, listener: Listener): void {
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener])
  }
  dispatch(type: string, members: object = {}): void {
    for (const listener of this.listeners.get(type) ?? [])
      listener({ type, timeStamp: Infinity, preventDefault() {}, ...members })
  }
  focus(): void {
    this.owner.activeElement = this
  }
  contains(other: unknown): boolean {
    return this === other || this.children.some((child) => child.contains(other))
  }
  /** All elements below this one that have the tag or, with a dot before it, the class. */
  all(selector: string): SmallElement[] {
    const fits = (each: SmallElement) =>
      selector.startsWith('.') ? each.classList.contains(selector.slice(1)) : each.tag === selector
    return this.children.flatMap((child) => [
      ...(fits(child) ? [child] : []),
      ...child.all(selector),
    ])
  }
  querySelector(selector: string): SmallElement | null {
    return this.all(selector)[0] ?? null
  }
  closest(selector: string): SmallElement | null {
    return this.tag === selector ? this : (this.parent?.closest(selector) ?? null)
  }
  getBoundingClientRect() {
    return this.box
  }

  get hidden(): boolean {
    return this.attributes.has('hidden')
  }
  set hidden(isHidden: boolean) {
    if (isHidden) this.attributes.set('hidden', '')
    else this.attributes.delete('hidden')
  }
  get id(): string {
    return this.getAttribute('id') ?? ''
  }
  get children(): SmallElement[] {
    return this.nodes.filter((node) => node instanceof SmallElement)
  }
  get childElementCount(): number {
    return this.children.length
  }
  get textContent(): string {
    return this.nodes.map(({ textContent }) => textContent).join('')
  }
  set textContent(text: string) {
    this.replaceChildren(...(text === '' ? [] : [text]))
  }
}

export class SmallDocument {
  title = ''
  visibilityState = 'visible'
  activeElement: SmallElement | undefined
  readonly documentElement = new SmallElement('html', this)

  createElement(tag: string): SmallElement {
    return new SmallElement(tag, this)
  }
  createElementNS(_: string, tag: string): SmallElement {
    return new SmallElement(tag, this)
  }
}

/** Sets what the drawing of a page takes from the globals of a browser. */
export function useSmallDocument(more: object = {}): SmallDocument {
  const document = new SmallDocument()
  Object.assign(globalThis, { document, Text: SmallText, HTMLElement: SmallElement, ...more })
  return document
}

/**
 * Nodes as a text: what a user sees, and what a screen reader learns. An icon is `(name tone)`, the
 * heading `# `, a value with an isolate of its own `{}`, a pair `(label | value)`, and a button
 * `[]` with what its press reports. Everything else is HTML. Strokes are left out.
 */
export function outline(nodes: readonly unknown[], reported: unknown[] = []): string {
  return nodes.map((node) => lineOf(node as SmallNode | string, reported)).join('\n')
}

/** The short forms, by how an element begins. Another attribute or class has none. */
const SHORT_FORMS: Readonly<Record<string, readonly [string, string]>> = {
  '<h1 tabindex="-1">': ['# ', ''],
  '<p class="lead">': ['', ''],
  '<p class="note">': ['note: ', ''],
  '<p class="notice" role="alert">': ['alert: ', ''],
  '<bdi translate="no">': ['{', '}'],
  '<dl class="pairs" translate="no">': ['', ''],
  '<div class="short">': ['(', ')'],
  '<div class="amount">': ['amount(', ')'],
  '<div class="long">': ['long(', ')'],
  '<dt dir="auto">': ['', ' | '],
  '<dd dir="auto">': ['', ''],
  '<button type="button" class="button">': ['[', ']'],
  '<button type="button" class="button plain">': ['[plain ', ']'],
  '<button type="button" class="button stop">': ['[stop ', ']'],
  '<div class="actions">': ['actions: ', ''],
  '<div class="refusals">': ['', ''],
}

function lineOf(node: SmallNode | string, reported: unknown[]): string {
  if (typeof node === 'string') return node
  if (node instanceof SmallText) return node.data
  const attributes = [...node.attributes].map(([name, value]) =>
    value === '' ? ` ${name}` : ` ${name}="${value}"`,
  )
  if (node.disabled) attributes.push(' disabled')
  const start = `<${node.tag}${attributes.join('')}>`
  const icon = /^<div class="icon (\w+)" data-tone="(\w+)" aria-hidden="true">$/.exec(start)
  if (icon) return `(${icon[1]} ${icon[2]})`
  if (node.tag === 'svg') return start
  const within = node.nodes.map((each) => lineOf(each, reported)).join('')
  const [before, after] = SHORT_FORMS[start] ?? [start, `</${node.tag}>`]
  return before + within + (node.tag === 'button' ? pressed(node, reported) : '') + after
}

function pressed(button: SmallElement, reported: unknown[]): string {
  const wasHidden = button.hidden
  reported.length = 0
  button.dispatch('click')
  button.hidden = wasHidden
  return reported.length === 0 ? '' : ` → ${reported.map(String).join(', ')}`
}
