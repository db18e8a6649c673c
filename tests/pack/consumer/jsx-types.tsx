// Compiled, but never run: the custom element in the JSX of React.
import type {} from '@bonded/widget/react'

export const element = (
  <pulse-bond
    origin="https://bond.example"
    publishable-key="pk_beta_…"
    workflow="credit_application"
    action="submit_application"
    session-endpoint="/bond-session"
  />
)
// @ts-expect-error the attributes are not `any`.
export const wrong = <pulse-bond origin={1} publishable-key="pk_beta_…" workflow="w" />
