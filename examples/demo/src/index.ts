export { type Activity, createActivity } from './activity/activity.ts'
export { type DemoForBank, type DemoOptions, type RunningDemo, startDemo } from './demo.ts'
export {
  type PhoneSurroundings,
  SERVED_PAGES,
  SOFTWARE_PHONE_PATHS,
  softwareKeyScripts,
  softwarePhone,
} from './phone/software-phone.ts'
export {
  AGENT_ACTION,
  AGENT_WORKFLOW,
  ENROLLMENT_ACTION,
  ENROLLMENT_WORKFLOW,
  TWO_PEOPLE_WORKFLOW,
} from './agent/payment-tool.ts'
export { BROWSER_WORKFLOW, CARRIED_WORKFLOW, ONE_MINUTE_WORKFLOW } from './scenarios.ts'
export type { Sandbox, ShownCode } from './sandbox.ts'
