import {
  INBOX_FAULTS,
  INBOX_POSSIBLE,
  INBOX_PROOFS,
  INBOX_REDUNDANT,
  INBOX_WITHOUT,
} from './inbox-searches.ts'
import type { Search } from './maude.ts'
import {
  QUORUM_FAULTS,
  QUORUM_POSSIBLE,
  QUORUM_PROOFS,
  QUORUM_REDUNDANT,
} from './quorum-searches.ts'

const BROKEN = 'broken(P:Promise)'

/** A variant of the protocol, or of the attacker's place in it, that must be safe. */
export interface Situation {
  readonly name: string
  readonly settings: string
}

/** Both ways of the proof, and a second tenant that is honest or the attacker. */
export const SITUATIONS: readonly Situation[] = [
  { name: 'related origins, honest tenants', settings: 'nothing' },
  { name: 'related origins, the second tenant is the attacker', settings: 'evilTenant' },
  { name: 'frame, honest tenants', settings: 'framedWay' },
  { name: 'frame, the second tenant is the attacker', settings: 'framedWay evilTenant' },
]
/** Searched with two sessions. */
const FURTHER: readonly Situation[] = [
  { name: 'phone apps with a browser key', settings: 'appPhones evilTenant' },
  { name: 'both subjects are victims', settings: 'twoVictims evilTenant' },
  {
    name: 'both subjects are victims, with app and frame',
    settings: 'twoVictims appPhones framedWay',
  },
  { name: 'the attacker has a third phone', settings: 'thirdPhone evilTenant' },
  {
    name: 'the workflow does not require the browser, the gate does',
    settings: 'optionalProof evilTenant',
  },
]

/** Nothing may be found: the proofs as designed. */
export function proofs(sessions: number): readonly Search[] {
  const proof = (situation: Situation, number: number): Search => ({
    ...situation,
    sessions: number,
    goal: BROKEN,
    expected: 'nothing',
  })
  return [
    ...SITUATIONS.map((situation) => proof(situation, sessions)),
    ...FURTHER.map((situation) => proof(situation, 2)),
    // The same without the reductions of the state, to check the reductions.
    ...SITUATIONS.map(({ name, settings }) =>
      proof({ name: `${name}, not reduced`, settings: `full ${settings}` }, sessions - 1),
    ),
    ...INBOX_PROOFS,
    ...QUORUM_PROOFS,
  ]
}

/** What each part of the proof stops: these attacks must be found without the part. */
export const WITHOUT: readonly Search[] = [
  ...[
    {
      name: 'no proof of the browser: a relay',
      settings: 'optionalProof oldGate',
      goal: 'broken(relayed)',
    },
    {
      name: 'no commitment: fixation, after the victim confirmed on the genuine page',
      settings: 'full noCommitment',
      goal: 'broken(relayed) sent(asr(K:Key, www(t1), top, proof(S:Session, t1, www(t1), h(r(alice, S:Session)))))',
    },
  ].map((search) => ({ ...search, sessions: 1, expected: 'found' as const })),
  ...INBOX_WITHOUT,
]

/** A planted fault: one check of the design removed. An attack must be found. */
export interface Fault extends Search {
  /** The rule of the design that the fault breaks: a number, or a letter for the other models. */
  readonly rule: string
  /** The promise that an attack breaks. */
  readonly promise: string
}

const FAULTS_BY_RULE: readonly (readonly [
  rule: number,
  settings: string,
  promise: string,
  name: string,
])[] = [
  [1, 'proofBeforePhone', 'relayed', 'a proof is taken before a phone holds the session'],
  [1, 'noRecheck', 'late', 'phone and evidence are not checked again with the proof'],
  [2, 'challengeLacksSession', 'relayed', 'the challenge does not cover the session'],
  [2, 'challengeLacksCommitment', 'relayed', 'the challenge does not cover the commitment'],
  [
    2,
    'framedWay challengeLacksOrigin',
    'relayed',
    "the challenge of the frame does not cover its parent's origin",
  ],
  [2, 'originFromHeader', 'relayed', 'the origin comes from a header, not from the client data'],
  [2, 'approvalFromAnyPage', 'unapproved', 'an approval is accepted from any origin'],
  [2, 'framedWay frameSignsAnything', 'relayed', 'the frame signs a payload of its parent'],
  [2, 'anyKeySent', 'swapped', 'the page sends assertions of phones that do not hold the session'],
  [3, 'noCommitment', 'relayed', 'the backend reads the verification without the secret'],
  [3, 'oneSecretPerTab', 'swapped', 'the widget uses one secret for all sessions'],
  [3, 'secretFromUrl', 'relayed', 'the widget takes the secret from the URL'],
  [3, 'commitmentAnnounced', 'swapped', 'the widget sends the commitment before the proof'],
  [4, 'anyKey', 'relayed', "another subject's key gives the proof"],
  [4, 'anyKeyOfSubject', 'relayed', 'another key of the subject gives the proof'],
  [4, 'noWait', 'hijacked', 'an added phone serves at once'],
  [4, 'noNotice', 'hijacked', 'the other phones of the subject are not notified'],
  [
    4,
    'joinedPhoneBondsFirst',
    'hijacked',
    'an added phone bonds first while its founder is active',
  ],
  [4, 'youngPhoneRemoves', 'hijacked', 'an added phone removes older phones at once'],
  [
    4,
    'thirdPhone youngPhoneAdds selfRemovalTakesPlanted',
    'hijacked',
    'where an added phone adds phones at once, its removal of itself takes them along',
  ],
  [
    4,
    'thirdPhone youngPhoneAdds removalLeavesPlanted',
    'hijacked',
    'where an added phone adds phones at once, the removal of a phone leaves those that it added',
  ],
  [4, 'removedPhonePasses', 'hijacked', 'a bond passes after its phone was removed'],
  [5, 'tokenPlantsKey', 'relayed', 'a device token is enough to add a browser key'],
  [5, 'keyFromAnyPage', 'swapped', 'a browser key may be created by any page'],
  [
    5,
    'keyForAnyPurpose',
    'swapped',
    'a key that was created to join a subject becomes a browser key',
  ],
  [
    6,
    'optionalProof proofNotCheckedAtBond',
    'relayed',
    'a proof that was not required is recorded unchecked',
  ],
  [7, 'gateIgnoresOrigin', 'relayed', 'the gate accepts every origin of the tenant'],
  [7, 'gateNamesNobody', 'hijacked', 'the backend never names the user'],
  [7, 'gateReadsSubjectAtCreate', 'hijacked', 'the gate takes the user as known at the create'],
  [8, 'pageDowngrades', 'relayed', 'the service believes that a browser cannot give a proof'],
]

const PAGE_FAULTS: readonly Fault[] = FAULTS_BY_RULE.map(([rule, settings, promise, name]) => ({
  rule: String(rule),
  settings,
  promise,
  name,
  // A third phone multiplies the states by 100, and its attacks need no second session.
  sessions: settings.includes('thirdPhone') ? 1 : 2,
  goal: `broken(${promise})`,
  expected: 'found',
}))

export const FAULTS: readonly Fault[] = [...PAGE_FAULTS, ...INBOX_FAULTS, ...QUORUM_FAULTS]

/**
 * Removed checks that other checks make up for: nothing is found.
 *
 * @param sessions of the searches with a third phone, which take minutes with two
 */
export function redundant(sessions: number): readonly Search[] {
  const searches = [
    {
      settings: 'challengeLacksTenant evilTenant',
      name: 'the challenge does not cover the tenant',
      sessions: 2,
    },
    {
      settings: 'framedWay challengeLacksTenant evilTenant',
      name: 'the challenge of the frame does not cover the tenant',
      sessions: 2,
    },
    {
      settings: 'thirdPhone youngPhoneAdds',
      name: 'an added phone adds phones at once',
      sessions,
    },
    {
      settings: 'thirdPhone removalLeavesPlanted',
      name: 'the removal of a phone takes the target only',
      sessions,
    },
  ].map((search) => ({ ...search, goal: BROKEN, expected: 'nothing' as const }))
  return [...searches, ...INBOX_REDUNDANT, ...QUORUM_REDUNDANT]
}

const ALICE = 'bonded(phone(alice), shown, fresh, h(r(alice, S:Session)), www(t1))'

/** What must be possible, or "nothing found" would prove nothing. */
export function possible(): readonly Search[] {
  const runs = SITUATIONS.flatMap(({ name, settings }) =>
    Object.entries({
      'a known user bonds with both proofs': `session(S:Session, t1, old, only(alice), ${ALICE})`,
      'a new user bonds with both proofs': `session(S:Session, t1, new, anyone, ${ALICE})`,
      'a new user passes the gate': 'account(t1, new, bound(alice, alice))',
      'a user passes the gate, and bonds again by name': `account(t1, new, bound(alice, alice)) session(S:Session, t1, new, only(alice), ${ALICE})`,
      'the attacker passes with an own phone': 'account(t1, new, bound(mallory, mallory))',
      "the attacker's phone joins the victim's subject":
        'device(spare(mallory), mallory, alice, K:Keys, young, active)',
      "the victim's phone is in the attacker's subject for 72 hours":
        'device(spare(alice), alice, mallory, K:Keys, ripe, active)',
    }).map(([what, goal]) => ({ name: `${name}: ${what}`, settings, goal })),
  )
  const attacker = [
    {
      name: 'a page of the attacker obtains a proof',
      settings: 'full nothing',
      goal: 'session(S:Session, t1, A:Account, N:Named, bonded(phone(alice), shown, fresh, h(rm), shop(t1)))',
    },
    {
      name: 'a page of the attacker obtains a proof from the frame',
      settings: 'full framedWay',
      goal: 'session(S:Session, t1, A:Account, N:Named, bonded(phone(alice), shown, fresh, h(rm), shop(t1)))',
    },
    {
      name: 'evidence expires between the proofs',
      settings: 'full nothing',
      goal: 'session(S:Session, t1, A:Account, N:Named, waiting(phone(alice), shown, stale))',
    },
    {
      name: "a phone that the attacker's phone added is in the victim's subject for 72 hours",
      settings: 'thirdPhone youngPhoneAdds removalLeavesPlanted',
      goal: 'device(further(mallory), mallory, alice, K:Keys, ripe, active) overlooked(further(mallory))',
    },
    {
      name: 'a phone is removed between the proofs',
      settings: 'full nothing',
      goal: 'session(S:Session, t1, A:Account, N:Named, waiting(phone(alice), shown, fresh)) device(phone(alice), alice, alice, K:Keys, founder, removed)',
    },
  ]
  return [
    ...[...runs, ...attacker].map((search) => ({
      ...search,
      sessions: 2,
      expected: 'found' as const,
    })),
    ...INBOX_POSSIBLE,
    ...QUORUM_POSSIBLE,
  ]
}
