import { saveDraft } from '../../site.js'

export async function POST(request) {
  const fields = await request.json().catch(() => undefined)
  const { status, headers, body } = saveDraft(request.headers.get('cookie'), fields)
  return Response.json(body, { status, headers })
}
