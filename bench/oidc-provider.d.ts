/** The part of oidc-provider, which ships without types, that its benchmark uses. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface BackchannelRequest {
    readonly accountId: string
    readonly clientId: string
  }

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  export class Provider {
    constructor(issuer: string, configuration: object)
    readonly Grant: new (
      of: BackchannelRequest,
    ) => Grant
    readonly BackchannelAuthenticationRequest: {
      find(id: string): Promise<BackchannelRequest | undefined>
    }
    backchannelResult(request: BackchannelRequest, result: Grant): Promise<void>
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    on(event: 'server_error', listener: (context: unknown, failure: Error) => void): this
  }
}
