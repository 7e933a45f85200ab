"""How commands reach a service: at once where there is none, and with a moment's patience where one is starting."""

from __future__ import annotations

from loader_client.connection import Connection
from loader_client.whereabouts import check_reachable, no_answer
from loader_service import endpoint as endpoints
from loader_service.daemon.absence import is_absent
from loader_service.daemon.own_services import own_services
from loader_service.errors import ServiceUnavailable

#: How long a service may take to answer, in seconds.
CONNECT_S = 5.0

#: Endpoints that are named to who looks for a service in vain.
_MOST_NAMED = 3


def reach(endpoint: str | None) -> Connection:
    """Return a connection to a service that is there, or is about to be.

    Parameters
    ----------
    endpoint
        Where it listens; None for the default.

    Raises
    ------
    ConfigError
        When the endpoint is malformed.
    ServiceUnavailable
        When it does not answer in time; at once when nobody is there.
    """
    place = endpoints.parse(endpoint)
    check_reachable(str(place))
    endpoints.check_owner(place)
    if is_absent(place):
        raise ServiceUnavailable(f"{no_answer(str(place), 0.0)}{_elsewhere()}")
    return Connection(str(place), timeout_s=CONNECT_S)


def _elsewhere() -> str:
    found = [str(place) for place, _ in own_services()]
    if not found:
        return ""
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f"; services of yours listen at {', '.join(found[:_MOST_NAMED])}{more}"
