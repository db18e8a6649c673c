import process from 'node:process'
import { ApplicationForm } from './application-form.js'

/** Rendered for each request, so that the build needs no keys of this page. */
export const dynamic = 'force-dynamic'

export default function Page() {
  const { BONDED_ORIGIN, BONDED_PUBLISHABLE_KEY } = process.env
  return (
    <main>
      <h1>Application</h1>
      <ApplicationForm origin={BONDED_ORIGIN} publishableKey={BONDED_PUBLISHABLE_KEY} />
    </main>
  )
}
