import { request } from 'node:http'

export interface Page {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** One request, with exactly these headers. No redirect is followed. */
export function send(
  address: string,
  given: { method?: string; headers?: Record<string, string>; body?: string; port?: number } = {},
): Promise<Page> {
  const { port, method = 'GET', headers = {}, body } = given
  const url = new URL(address)
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: port ?? url.port, path: `${url.pathname}${url.search}`, method },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    sent.on('error', reject)
    for (const [name, value] of Object.entries({ host: url.host, ...headers }))
      sent.setHeader(name, value)
    sent.end(body)
  })
}

/** A browser without scripts: it has cookies for each origin, and follows redirects. */
export class Visitor {
  readonly origin: string
  readonly cookies = new Map<string, Map<string, string>>()

  constructor(origin: string) {
    this.origin = origin
  }

  /** Follows redirects, also to the provider and back. */
  async open(path: string): Promise<Page & { readonly url: string }> {
    let url = new URL(path, this.origin)
    for (let hops = 0; hops < 12; hops++) {
      const page = await this.step(url.href)
      const to = page.headers['location']
      if (to === undefined) return { ...page, url: url.href }
      url = new URL(String(to), url)
    }
    throw new Error(`too many redirects at ${url.href}`)
  }

  /** One request. */
  async step(
    address: string,
    given: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<Page> {
    const url = new URL(address, this.origin)
    const jar = this.cookies.get(url.origin) ?? new Map<string, string>()
    this.cookies.set(url.origin, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const page = await send(url.href, {
      ...given,
      headers: { ...(cookie && { cookie }), ...given.headers },
    })
    for (const line of [page.headers['set-cookie'] ?? []].flat()) {
      const [pair = ''] = line.split(';')
      const index = pair.indexOf('=')
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(pair.slice(0, index))
      else jar.set(pair.slice(0, index), pair.slice(index + 1))
    }
    return page
  }

  /** Sends the form of a page that this visitor has opened. */
  async submit(
    path: string,
    {
      form = {},
      token,
      origin = this.origin,
    }: {
      form?: Record<string, string>
      token?: string
      origin?: string
    } = {},
  ): Promise<Page> {
    const shown = token ?? tokenIn((await this.open('/')).text)
    return this.step(path, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: shown, ...form }).toString(),
    })
  }
}

export function tokenIn(text: string): string {
  return /name="token" value="([^"]+)"/.exec(text)?.[1] ?? ''
}
