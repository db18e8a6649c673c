/** Matches the paths of a template such as `/api/v1/sessions/{session_id}` or `/log/tile/*`. */
export function pathPattern(template: string): RegExp {
  const literal = template.replaceAll('.', '\\.').replaceAll('*', '.+')
  return new RegExp(`^${literal.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
}
