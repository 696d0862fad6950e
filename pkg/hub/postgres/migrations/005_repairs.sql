-- What an add-on's payload says, and no more: its conditions without their messages and times. The clusters whose add-ons
-- say the same can then be counted where they are. What is not as it should be stays, for whoever aggregates to find.
CREATE FUNCTION hub_of_hubs.addon_says(payload jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('status', CASE
        WHEN jsonb_typeof(payload -> 'status' -> 'conditions') = 'array' THEN jsonb_build_object('conditions', (
            SELECT coalesce(jsonb_agg(c.says ORDER BY c.says), '[]') FROM (
                SELECT CASE WHEN jsonb_typeof(e) = 'object'
                    THEN jsonb_build_object('type', e -> 'type', 'status', e -> 'status', 'reason', e -> 'reason')
                    ELSE e END AS says
                FROM jsonb_array_elements(payload -> 'status' -> 'conditions') e) c))
        WHEN jsonb_typeof(payload -> 'status') = 'object'
            THEN jsonb_build_object('conditions', payload -> 'status' -> 'conditions')
        ELSE payload -> 'status' END)
$$;
ALTER TABLE status.managedclusteraddons
    ADD COLUMN says jsonb GENERATED ALWAYS AS (hub_of_hubs.addon_says(payload)) STORED;
