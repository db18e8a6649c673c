export { type Activity, createActivity } from './activity/activity.ts'
export { type DemoForBank, type DemoOptions, type RunningDemo, startDemo } from './demo.ts'
export { BROWSER_WORKFLOW, ONE_MINUTE_WORKFLOW } from './scenarios.ts'
export type { Sandbox, ShownCode } from './sandbox.ts'
