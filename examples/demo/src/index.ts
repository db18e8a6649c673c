export { type Activity, createActivity } from './activity/activity.ts'
export { type DemoForBank, type DemoOptions, type RunningDemo, startDemo } from './demo.ts'
export {
  type PhoneSurroundings,
  SOFTWARE_PHONE_PATHS,
  softwareKeyScripts,
  softwarePhone,
} from './phone/software-phone.ts'
export { BROWSER_WORKFLOW, CARRIED_WORKFLOW, ONE_MINUTE_WORKFLOW } from './scenarios.ts'
export type { Sandbox, ShownCode } from './sandbox.ts'
