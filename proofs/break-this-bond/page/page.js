// @ts-check

/**
 * @typedef {'none' | 'won' | 'remains'} Outcome
 * @typedef {{ id: number, title: string, you: string, guard: { file: string, name: string },
 *   remains?: string, outside?: string, moves: Record<string, string> }} Level
 * @typedef {{ said: string[], outcome: Outcome, after: number, stopped: string[],
 *   lines: { party: string, text: string }[], trace: { entries: { at: string, kind: string,
 *   reason: string | null, step: string | null }[] }[] }} Played
 * @typedef {{ LEVELS: Level[], EXPLANATIONS: Record<string, string>,
 *   play(level: Level, seed: string, moves: string[]): Promise<Played> }} Game
 * @typedef {{ level: number, seed: string, isGuarded: boolean, moves: string[] }} State
 */

/** Where each guard is, by its file and name. The build writes it. */
const LINES = /** @type {Record<string, { where: string, url: string }>} */ (
  JSON.parse(/** @type {any} */ (globalThis).GUARD_LINES)
)
const game = await load('game.js')
/** The latest drawing. An earlier one that is still being played must not replace it. */
let drawing = 0

/** @param {string} file @returns {Promise<Game>} */
function load(file) {
  return import(new URL(file, import.meta.url).href)
}

/** Reads the address: a link is a report. @returns {State} */
function stateOf() {
  const members = new URLSearchParams(location.hash.slice(1))
  const moves = members.get('moves') ?? ''
  return {
    level: Number(members.get('level') ?? 1),
    seed: members.get('seed') ?? '1',
    isGuarded: members.get('guard') !== 'off',
    moves: moves === '' ? [] : moves.split(','),
  }
}

/** @param {Partial<State>} changed */
function hashWith(changed) {
  const { level, seed, isGuarded, moves } = { ...stateOf(), ...changed }
  const members = { seed, level: String(level), guard: isGuarded ? 'on' : 'off' }
  return `#${new URLSearchParams({ ...members, moves: moves.join() })}`
}

/** @param {Partial<State>} changed */
const go = (changed) => (location.hash = hashWith(changed))

/** @param {string} id */
function at(id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no ${id}`)
  return found
}

/** @param {string} name @param {...(string | Node)} content */
function make(name, ...content) {
  const element = document.createElement(name)
  element.append(...content)
  return element
}

/**
 * A guard as a link to its line. A level names the file of a reason that several files have.
 *
 * @param {string} name @param {Level} level
 */
function linkTo(name, { guard }) {
  const found = Object.keys(LINES).find((key) => key.endsWith(` ${name}`))
  const place = LINES[`${guard.file} ${name}`] ?? LINES[found ?? '']
  if (place === undefined) return name
  const link = /** @type {HTMLAnchorElement} */ (make('a', `${name} (${place.where})`))
  link.href = place.url
  link.target = '_blank'
  return link
}

/** Draws what depends on the level alone. @param {Level} level */
function drawLevel(level) {
  at('title').textContent = `Level ${level.id}: ${level.title}`
  at('you').textContent = level.you
  const { remains, outside } = level
  at('remains').replaceChildren(
    ...(remains === undefined ? [] : [make('p', `What no guard prevents: ${remains}`)]),
    ...(outside === undefined ? [] : [make('p', `Outside of this level: ${outside}`)]),
  )
  at('names').textContent = Object.keys(level.moves).join(', ')
  at('guard-line').replaceWith(
    Object.assign(make('span', linkTo(level.guard.name, level)), { id: 'guard-line' }),
  )
  at('moves').replaceChildren(
    ...Object.entries(level.moves).map(([name, label]) => {
      const button = make('button', label)
      button.addEventListener('click', () => go({ moves: [...stateOf().moves, name] }))
      return button
    }),
  )
  at('moves').dataset['level'] = String(level.id)
}

/** @param {Played} played @param {Level} level */
function outcomeOf({ outcome, stopped, said }, level) {
  const isBegun = said.length > 0
  if (outcome === 'won') return ['You have won. Turn the guard on, and play the same moves.']
  if (outcome === 'remains')
    return ['You have won, and no guard prevents it. ', level.remains ?? '']
  const reasons = stopped.map((name) => {
    const explanation = game.EXPLANATIONS[name]
    return make('li', linkTo(name, level), explanation === undefined ? '' : `: ${explanation}`)
  })
  if (reasons.length > 0) return ['What has stopped you in this game:', make('ul', ...reasons)]
  return isBegun ? ['Nothing has stopped you yet, and you have not won.'] : []
}

/** @param {Played} played @param {Level} level */
function drawPlayed(played, level) {
  at('outcome').dataset['outcome'] = played.outcome
  at('outcome').replaceChildren(...outcomeOf(played, level))
  for (const list of document.querySelectorAll('[data-party]')) {
    const own = played.lines.filter(({ party }) => party === list.getAttribute('data-party'))
    list.replaceChildren(...own.map(({ text }) => make('li', text)))
  }
  at('trace').replaceChildren(
    ...played.trace.flatMap(({ entries }, index) => [
      make('tr', Object.assign(make('th', `Request ${index + 1}`), { colSpan: 3 })),
      ...entries.map(({ at: time, kind, reason, step }) =>
        make(
          'tr',
          make('td', time.slice(11, 19)),
          make('td', reason === null ? kind : `${kind}: ${reason}`),
          make('td', step ?? ''),
        ),
      ),
    ]),
  )
}

/** The links keep the seed and the guard. @param {Level} current */
function drawLevels(current) {
  for (const [index, link] of document.querySelectorAll('#levels a').entries()) {
    const id = game.LEVELS[index]?.id
    link.setAttribute('href', hashWith({ level: id ?? 1, moves: [] }))
    if (id === current.id) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

async function draw() {
  const own = ++drawing
  const state = stateOf()
  const level = game.LEVELS.find(({ id }) => id === state.level) ?? game.LEVELS[0]
  if (level === undefined) return
  // A button that is pressed keeps the focus, so the moves are drawn once.
  if (at('moves').dataset['level'] !== String(level.id)) drawLevel(level)
  drawLevels(level)
  const guard = /** @type {HTMLInputElement} */ (at('guard'))
  guard.checked = state.isGuarded
  const seed = /** @type {HTMLInputElement} */ (at('seed'))
  seed.value = state.seed
  const script = /** @type {HTMLTextAreaElement} */ (at('script'))
  script.value = JSON.stringify(state.moves)
  at('problem').textContent = ''
  try {
    const playing = state.isGuarded ? game : await load(`game-${level.id}.js`)
    const same = playing.LEVELS.find(({ id }) => id === level.id) ?? level
    const played = await playing.play(same, state.seed, state.moves)
    if (own === drawing) drawPlayed(played, level)
  } catch (error) {
    at('problem').textContent = error instanceof Error ? error.message : String(error)
  }
}

at('guard').addEventListener('change', (event) =>
  go({ isGuarded: /** @type {HTMLInputElement} */ (event.target).checked }),
)
at('seed').addEventListener('change', (event) =>
  go({ seed: /** @type {HTMLInputElement} */ (event.target).value }),
)
at('undo').addEventListener('click', () => go({ moves: stateOf().moves.slice(0, -1) }))
at('restart').addEventListener('click', () => go({ moves: [] }))
at('run').addEventListener('click', () => {
  const script = /** @type {HTMLTextAreaElement} */ (at('script'))
  try {
    const moves = JSON.parse(script.value)
    if (!Array.isArray(moves)) throw new TypeError('no array')
    go({ moves })
  } catch {
    at('problem').textContent = 'The moves are not a JSON array of names.'
  }
})
at('levels').replaceChildren(...game.LEVELS.map(({ title }) => make('li', make('a', title))))
window.addEventListener('hashchange', () => void draw())
await draw()
