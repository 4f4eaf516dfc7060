"""Old names."""

from gtp_engine.search.request import AvoidRule as AvoidRule
from gtp_engine.search.request import ReportRequest as ReportRequest
from gtp_engine.search.request import is_allowed as is_allowed
from gtp_engine.search.stopping import Limits as Limits
