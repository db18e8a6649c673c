import { API_PATH } from '@bonded/contract'
import { hasBrowserWorkflow, type Tenant } from '@bonded/core/domain/tenant'
import { INTEGRITY_PATH } from '@bonded/server/http/pages/hosted-script'
import { hostedScript } from '../node/serve.ts'

/** What an integrator needs of the service, beside the keys. */
export function integrationPoints(tenant: Tenant, origin: string) {
  const sockets = origin.replace(/^http/, 'ws')
  const frame = hasBrowserWorkflow(tenant) ? `; frame-src ${origin}` : ''
  return {
    api_base: `${origin}${API_PATH}`,
    script_tag: `<script src="${origin}/v1/pulse.js"></script>`,
    content_security_policy: `script-src ${origin}; connect-src ${origin} ${sockets}; img-src ${origin} data:${frame}`,
    integrity_url: `${origin}${INTEGRITY_PATH}`,
    session_endpoint: tenant.sessionEndpoint ?? null,
  }
}

/** The tag of the version of this service, with its integrity value, for a page that pins it. */
export async function pinnedScript(origin: string) {
  const { version, load } = hostedScript()
  const { integrity } = await load()
  return {
    pinned_script_tag: `<script src="${origin}/v1/pulse-${version}.js" integrity="${integrity}" crossorigin="anonymous"></script>`,
    integrity,
  }
}
