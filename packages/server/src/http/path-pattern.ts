/** Matches the paths of a template such as `/api/v1/sessions/{session_id}`. */
export function pathPattern(template: string): RegExp {
  return new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
}
