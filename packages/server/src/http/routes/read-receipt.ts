import { BROWSER_SECRET_HEADER, ENDPOINTS } from '@bonded/contract'
import { mapResult } from '@bonded/core/domain/rejection'
import { readReceipt } from '@bonded/core/operations/receipt/read-receipt'
import { serve } from '../serve.ts'

export const readReceiptRoute = serve(
  ENDPOINTS.readReceipt,
  async ({ service, caller, params, headers }) => {
    const found = await readReceipt(service, caller, {
      id: params.session_id,
      browserSecret: headers[BROWSER_SECRET_HEADER],
    })
    return mapResult(found, (value) => ['receipt', { receipt: value.jws, proof: value.proof }])
  },
)
