import type { Trick } from './agent/agent-run.ts'

/** One way a request can go. A link on the bank's page starts it. */
export interface Scenario {
  readonly name: string
  /** The text of the link. */
  readonly title: string
  /** One sentence: what to do, and what to watch. */
  readonly watch: string
  /** What the motion sensors read: `carried` in a hand, `resting` on a table. */
  readonly motion: 'carried' | 'resting'
  /** The workflow of the bank’s session, where it differs. */
  readonly workflow?: string
  /** The service stops as soon as a page shows a QR code. */
  readonly stopsService?: true
  /** The passkey of the simulated phone answers in the user’s browser. */
  readonly usesPasskey?: true
  /** The page is not the bank’s. */
  readonly isRelayed?: true
  /** The page is the agent’s. What it does besides waiting for the user. */
  readonly trick?: Trick
}

/** The workflow whose sessions last one minute. */
export const ONE_MINUTE_WORKFLOW = 'credit_application_one_minute'

/** The workflow that requires the browser after the phone. */
export const BROWSER_WORKFLOW = 'credit_application_browser'

/** The workflow that requires a phone which is held. */
export const CARRIED_WORKFLOW = 'credit_application_carried'

/** The scenarios, in the order of their links. The first one is the bank’s start page. */
export const SCENARIOS = [
  {
    name: 'normal',
    title: 'Normal',
    watch:
      'Choose Continue to approval, scan the QR code with the phone, compare, and approve. The bank then accepts the application.',
    motion: 'carried',
  },
  {
    name: 'review',
    title: 'Review',
    watch:
      'This phone lies on a table, so its motion proves nothing. Approve without picking it up: the bond holds, but the bank’s gate sends the application to an employee.',
    motion: 'resting',
  },
  {
    name: 'step-up',
    title: 'Step-up',
    watch:
      'The phone lies on a table, and here the bank’s policy requires that it is held. Approve, and the service asks for more proof. Then choose Pick up the phone.',
    motion: 'resting',
    workflow: CARRIED_WORKFLOW,
  },
  {
    name: 'declined',
    title: 'Declined',
    watch:
      'Scan, then choose Decline on the phone. The page ends at once, and the bank stores nothing.',
    motion: 'carried',
  },
  {
    name: 'not-me',
    title: 'Not me',
    watch:
      'Scan, then choose This wasn’t me. The bank deletes the form, records a report, and ends this browser’s login.',
    motion: 'carried',
  },
  {
    name: 'expired',
    title: 'Expired',
    watch:
      'This request lasts one minute. Choose Continue to approval and leave the phone alone: the QR code disappears, and nothing can be approved any more.',
    motion: 'carried',
    workflow: ONE_MINUTE_WORKFLOW,
  },
  {
    name: 'browser',
    title: 'Bonded browser',
    watch:
      'The bank asks this browser too. Approve on the phone, then choose Confirm on this computer: the phone’s passkey answers for the bank’s page, and for no page at another address.',
    motion: 'carried',
    workflow: BROWSER_WORKFLOW,
    usesPasskey: true,
  },
  {
    name: 'relay',
    title: 'Attacked by a relaying page',
    watch:
      'You are on a fake copy of the bank. Choose Continue to approval, scan, and compare the amount on the phone with the one that you entered. Then let the attack run again, against a bank that also asks the browser.',
    motion: 'carried',
    workflow: BROWSER_WORKFLOW,
    isRelayed: true,
  },
  {
    name: 'server-down',
    title: 'Service down',
    watch:
      'The service stops when the QR code appears. Nothing can be approved, and the bank accepts nothing. Then choose Start the service: the same request goes on.',
    motion: 'carried',
    stopsService: true,
  },
  {
    name: 'agent',
    title: 'Agent pays',
    watch:
      'Choose Run the agent. The phone shows who asks and the whole call: read it to the end, and approve. The payment then runs once, and has a receipt.',
    motion: 'carried',
    trick: 'none',
  },
  {
    name: 'agent-changed',
    title: 'Agent changes the amount',
    watch:
      'Choose Run the agent, and approve €1,250.00 on the phone. The agent then calls the bank’s tool with €12,500.00.',
    motion: 'carried',
    trick: 'changed',
  },
  {
    name: 'agent-phone',
    title: 'Agent’s own phone',
    watch:
      'Choose Run the agent. It does not wait for you: it registers a phone of its own, and tries to approve its own request.',
    motion: 'carried',
    trick: 'own_phone',
  },
  {
    name: 'agent-two',
    title: 'Two people decide',
    watch:
      'Choose Run the agent. You and a colleague must both approve. Your colleague declines and writes why; the agent waits, and asks both again for less.',
    motion: 'carried',
    trick: 'two_people',
  },
] as const satisfies readonly Scenario[]

/** Finds a scenario by its name. */
export function findScenario(name: unknown): Scenario | undefined {
  return SCENARIOS.find((scenario) => scenario.name === name)
}
