import type { Instant } from './session/snapshot.ts'

/** An event or an effect: its name, then its data. */
export type Named = readonly [name: string, ...data: readonly unknown[]]

/** What a reducer may read besides its state and the event. */
export interface Moment {
  readonly now: Instant
  /** A number from 0 up to but not including 1. */
  readonly random: number
}

/** A state that a reducer is making. */
export type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** The result of a reducer: the next state, and what to do, in this order. */
export interface Reaction<State, Effect> {
  readonly state: State
  readonly effects: readonly Effect[]
}

/** A state that names when it needs the event `tick`: `Infinity` for a timer that is not set. */
interface Timed {
  readonly timers: Readonly<Record<string, Instant>>
}

/** What to do for each effect, by its name. */
export type Performers<Effect extends Named> = {
  readonly [E in Effect as E[0]]: E extends readonly [string, ...infer Data]
    ? (...data: Data) => void
    : never
}

type Reducer<State, Event, Effect> = (
  state: State,
  event: Event,
  moment: Moment,
) => Reaction<State, Effect>

/**
 * Runs a reducer. The timers are part of its state, so none is left behind. An event that arrives
 * while effects are performed waits until all of them are.
 *
 * @param onFailure an event or an effect has thrown, which is a defect or the work of the page
 * @returns a function that dispatches an event
 */
export function runReducer<State extends Timed, Event extends Named, Effect extends Named>(
  reduce: Reducer<State, Event | readonly ['tick'], Effect>,
  initial: State,
  performers: Performers<Effect>,
  onFailure: (cause: unknown) => void,
): (...event: Event) => void {
  const perform = performers as unknown as Record<string, (...data: unknown[]) => void>
  const queue: (Event | readonly ['tick'])[] = []
  let state = initial
  let isBusy = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const attempt = (act: () => void) => {
    try {
      act()
    } catch (cause) {
      onFailure(cause)
    }
  }
  const work = () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const event = next
      attempt(() => {
        const reaction = reduce(state, event, { now: performance.now(), random: Math.random() })
        state = reaction.state
        // An effect that fails must not keep the later ones, such as the outcome, from happening.
        for (const [name, ...data] of reaction.effects) attempt(() => perform[name]!(...data))
      })
    }
  }
  const dispatch = (...event: Event | readonly ['tick']) => {
    queue.push(event)
    if (isBusy) return
    isBusy = true
    try {
      work()
    } finally {
      isBusy = false
      clearTimeout(timer)
      const delayMs = Math.min(...Object.values(state.timers)) - performance.now()
      // A browser drops the fraction of a delay, and would then be early.
      if (delayMs < Infinity) timer = setTimeout(() => dispatch('tick'), Math.ceil(delayMs))
    }
  }
  return dispatch
}
