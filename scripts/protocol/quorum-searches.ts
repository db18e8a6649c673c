import type { Search } from './maude.ts'
import type { Fault } from './searches.ts'

const ANY_PROMISE = 'broken(P:Promise)'

const quorum = <S extends Omit<Search, 'model' | 'sessions'>>(search: S) => ({
  ...search,
  model: 'quorum' as const,
  // Two quorums meet only where the gate takes the sessions of one for the other's.
  sessions: search.settings.includes('twoEach') ? 2 : 1,
})

/** Nothing may be found: the quorum as designed. */
export const QUORUM_PROOFS: readonly Search[] = [
  { name: 'a quorum of two or three people', settings: 'nothing' },
  { name: 'a quorum, the configuration says three', settings: 'minimumOfThree' },
  { name: 'two quorums of two people each', settings: 'twoEach' },
].map((search) => quorum({ ...search, goal: ANY_PROMISE, expected: 'nothing' }))

const FAULTS_BY_RULE: readonly (readonly [
  rule: string,
  settings: string,
  promise: string,
  name: string,
])[] = [
  [
    'H',
    'createTakesTwice gateTakesTwice',
    'few',
    'neither the create nor the gate compares the references',
  ],
  ['I', 'personAskedTwice', 'few', 'the library does not compare the people'],
  ['J', 'makerAsked', 'own', 'the library does not compare the people with the maker'],
  ['K', 'twoEach anyQuorum', 'split', 'an approval of another quorum with the same text counts'],
  ['L', 'neededFromRow', 'lowered', 'the row says how many people are needed'],
  [
    'L',
    'minimumOfThree minimumFromRequest',
    'few',
    'the request says how many people are needed at least',
  ],
  ['M', 'noSnapshot', 'lapsed', 'the sessions are read one after the other'],
  [
    'N',
    'noEndsOneOnly gateForgetsNo',
    'overruled',
    'a no ends the session of one user only, and the gate overlooks it',
  ],
]

export const QUORUM_FAULTS: readonly Fault[] = FAULTS_BY_RULE.map(
  ([rule, settings, promise, name]) => ({
    ...quorum({ settings, name, goal: `broken(${promise})`, expected: 'found' }),
    rule,
    promise,
  }),
)

/** Removed checks that other checks make up for. */
export const QUORUM_REDUNDANT: readonly Search[] = [
  { settings: 'createTakesTwice', name: 'the create does not compare the references' },
  { settings: 'gateTakesTwice', name: 'the gate does not compare the references' },
  { settings: 'serviceTakesMaker', name: 'the service asks the maker' },
  { settings: 'noEndsOneOnly', name: 'a no ends the session of one user only' },
  { settings: 'gateForgetsNo', name: 'the gate overlooks a no' },
].map((search) => quorum({ ...search, goal: ANY_PROMISE, expected: 'nothing' }))

/** What must be possible. */
export const QUORUM_POSSIBLE: readonly Search[] = [
  {
    name: 'two of three people approve, and the action runs',
    settings: 'nothing',
    goal: 'ran(Q:Session) seat(Q:Session, R:Ref, 2, 3, open)',
  },
  {
    name: 'three people approve, as the configuration says',
    settings: 'minimumOfThree',
    goal: 'ran(Q:Session)',
  },
  {
    name: 'two quorums run, each by its own approvals',
    settings: 'twoEach',
    goal: 'ran(id(0)) ran(id(1))',
  },
].map((search) => quorum({ ...search, expected: 'found' }))
