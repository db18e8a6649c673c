import { define } from './endpoint.ts'
import { Bytes32, closed } from './schemas/primitives.ts'
import { RejectionList, RejectionSearch } from './schemas/rejection.ts'
import { SubjectDevices } from './schemas/subject.ts'

const SUBJECT_PATH = '/api/v1/subjects/{subject_ref}'

const subject = {
  callers: ['backend'],
  ownOriginOnly: true,
  limits: ['backend'],
  params: closed({ subject_ref: Bytes32 }),
  status: 200,
  retry: 'repeat',
  responses: { subject: SubjectDevices },
  rejections: ['subject_not_found', 'unscoped_credential_required'],
} as const

/** The endpoints of a tenant's support: a user's phones, and why a request was rejected. */
export const SUBJECT_ENDPOINTS = {
  listSubjectDevices: define({
    ...subject,
    method: 'GET',
    path: `${SUBJECT_PATH}/devices`,
    priority: 'new',
    summary: 'Lists the phones of a user.',
  }),
  blockSubject: define({
    ...subject,
    limits: ['block'],
    method: 'POST',
    path: `${SUBJECT_PATH}/block`,
    priority: 'begun',
    summary:
      'Blocks all phones of a user for this tenant, also future ones, and ends the sessions that they hold. Blocking again changes nothing.',
  }),
  unblockSubject: define({
    ...subject,
    limits: ['block'],
    method: 'POST',
    path: `${SUBJECT_PATH}/unblock`,
    priority: 'begun',
    summary:
      'Ends the tenant’s block of a user. A block by the operator of the service stays. Unblocking again changes nothing.',
  }),
  listRejections: define({
    callers: ['backend'],
    ownOriginOnly: true,
    limits: ['backend'],
    method: 'GET',
    path: '/api/v1/rejections',
    priority: 'new',
    summary:
      'Lists why requests of phones and pages were rejected, newest first, also after their sessions were deleted.',
    query: RejectionSearch,
    responses: { rejections: RejectionList },
    rejections: ['unscoped_credential_required'],
  }),
} as const
