import type { Search } from './maude.ts'
import type { Fault } from './searches.ts'

const ANY_PROMISE = 'broken(P:Promise)'

const inbox = <S extends Omit<Search, 'model' | 'sessions'>>(search: S) => ({
  ...search,
  model: 'inbox' as const,
  // Requests depend on each other only through the phones, so that an attack needs one.
  sessions: 1,
})

/** Nothing may be found: the inbox as designed. */
export const INBOX_PROOFS: readonly Search[] = [
  { name: 'inbox', settings: 'nothing' },
  {
    name: 'inbox, the agent uses a synced passkey, and the backend was broken into',
    settings: 'syncedPasskey brokenBackend',
  },
  { name: 'inbox, both subjects are victims', settings: 'twoVictims brokenBackend' },
  { name: 'inbox, the attacker has a third phone', settings: 'thirdPhone brokenBackend' },
  { name: 'inbox, seasoned keys, and no notification', settings: 'seasoned noNotice' },
  { name: 'inbox, not reduced', settings: 'full thirdPhone brokenBackend' },
].map((search) => ({
  ...inbox({ ...search, goal: ANY_PROMISE, expected: 'nothing' }),
  sessions: 2,
}))

/** What no rule of the inbox stops. */
export const INBOX_WITHOUT: readonly Search[] = [
  {
    name: "inbox, the agent's phone made the first bond of the account",
    settings: 'agentEnrolled',
    goal: 'broken(usurped)',
    expected: 'found' as const,
  },
  {
    name: 'inbox, the agent passes the user verification of a synced passkey',
    settings: 'syncedPasskey knownPin',
    goal: 'broken(unapproved)',
    expected: 'found' as const,
  },
].map(inbox)

const FAULTS_BY_RULE: readonly (readonly [
  rule: string,
  settings: string,
  promise: string,
  name: string,
])[] = [
  ['A', 'requestNamesNobody', 'usurped', 'a request names no subject'],
  ['B', 'noWait', 'usurped', 'an added phone serves at once'],
  ['B', 'keyOlderOnly', 'usurped', 'an added phone serves at once what is created after it joined'],
  ['B', 'noNotice', 'usurped', 'the other phones of the subject are not notified'],
  ['B', 'youngPhoneRemoves', 'usurped', 'an added phone removes older phones at once'],
  ['C', 'listIgnoresAge', 'disclosed', 'the list does not check when the phone was added'],
  ['C', 'checkedAtOpeningOnly', 'late', 'the phone is checked when it opens a request only'],
  ['D', 'tokenLists', 'disclosed', 'a device token is enough to list the requests'],
  ['D', 'listFromAnyPage', 'disclosed', 'the list is accepted from any origin'],
  ['E', 'brokenBackend pageNonceOpens', 'disclosed', 'the nonce of the page opens a request'],
  ['E', 'declineNeedsNoNonce', 'ended', 'a device token is enough to decline a request'],
  ['F', 'approvalFromAnyPage', 'unapproved', 'an approval is accepted from any origin'],
  ['F', 'syncedPasskey notVerified', 'unapproved', 'an approval needs no user verification'],
  ['G', 'seasoned noNotice ageAlone', 'usurped', 'a seasoned key needs no completed bond'],
]

export const INBOX_FAULTS: readonly Fault[] = FAULTS_BY_RULE.map(
  ([rule, settings, promise, name]) => ({
    ...inbox({ settings, name, goal: `broken(${promise})`, expected: 'found' }),
    rule,
    promise,
  }),
)

/** Removed checks that other checks make up for. */
export const INBOX_REDUNDANT: readonly Search[] = [
  inbox({
    name: 'inbox, the 72 hours end when the phone opens the request',
    settings: 'waitAtOpening',
    goal: ANY_PROMISE,
    expected: 'nothing',
  }),
]

/** What must be possible. */
export const INBOX_POSSIBLE: readonly Search[] = [
  { name: 'a user approves', goal: 'approved(S:Session, phone(alice))' },
  {
    name: 'a user approves with a phone that was added',
    goal: 'approved(S:Session, spare(alice))',
  },
  {
    name: "the attacker's phone joins while a request waits",
    goal: 'request(S:Session, alice, only(alice), K:Keys, unopened) device(spare(mallory), mallory, alice, L:Keys, young, active)',
  },
].map(({ name, goal }) =>
  inbox({ name: `inbox, ${name}`, settings: 'nothing', goal, expected: 'found' }),
)
